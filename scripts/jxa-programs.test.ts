import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { createCleanup, tempDir } from '@footbridge/testkit/cleanup';
import { afterEach, describe, expect, it } from 'vitest';

import { bundledPrograms, bundleProgram } from './jxa-programs.ts';

const ROOT = join(import.meta.dirname, '..');
const FOLDER = 'packages/agent/src/ports/messages/macos';

const cleanup = createCleanup();
afterEach(() => cleanup.run());

async function bundle(files: Readonly<Record<string, string>>): Promise<string> {
  const root = await tempDir(cleanup);
  mkdirSync(join(root, FOLDER, 'programs'), { recursive: true });
  for (const [name, code] of Object.entries(files)) writeFileSync(join(root, FOLDER, 'programs', name), code);
  return await bundleProgram(root, 'main');
}

describe('the bundled programs for osascript', () => {
  it('are made from their modules as they are now', async () => {
    const file = readFileSync(join(ROOT, FOLDER, 'bundled-programs.ts'), 'utf8');
    expect(file, 'run npm run check -- --write').toBe(await bundledPrograms(ROOT));
  });

  it('contain the modules that they import, in ES2021', async () => {
    const code = await bundle({
      'main.ts': "import { Count } from './other.ts';\nwrite(new Count().value);\n",
      'other.ts': 'export class Count { readonly value: number = 1; }\n',
    });
    expect(code).not.toMatch(/\bimport\b|\bexport\b|value = 1;\n\s*}/);
    expect(code).toContain('write(');
  });

  it('import nothing from outside', async () => {
    await expect(
      bundle({ 'main.ts': "import { join } from 'node:path';\nwrite(join('a'));\n" }),
    ).rejects.toThrow();
    await expect(bundle({ 'main.ts': "import { a } from './missing.ts';\nwrite(a);\n" })).rejects.toThrow();
  });
});
