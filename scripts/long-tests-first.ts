import { relative } from 'node:path';

import { BaseSequencer } from 'vitest/node';
import type { TestSpecification } from 'vitest/node';

import { LONG } from './test-groups.ts';

/** Runs the files of `LONG` first. Without the durations of an earlier run, vitest sorts by size. */
export class LongTestsFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    const isLong = ({ moduleId }: TestSpecification) =>
      LONG.includes(relative(this.ctx.config.root, moduleId));
    return [...sorted.filter(isLong), ...sorted.filter((file) => !isLong(file))];
  }
}
