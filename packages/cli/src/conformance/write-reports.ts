import { accessSync, constants, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';

import { renderBadge } from '@footbridge/conformance/badge';
import type { ConformanceReport } from '@footbridge/conformance/report';
import { renderHtml } from '@footbridge/conformance/report-html';
import { renderJunit } from '@footbridge/conformance/report-junit';

import { CliError, usageError } from '../cli-error.ts';

export interface ReportFiles {
  readonly junit?: string;
  readonly html?: string;
  readonly badge?: string;
}

/** Returns a function for each report that writes it. Throws a usage error, before any check runs, if one cannot be written. */
export function reportWriters({ junit, html, badge }: ReportFiles): ((report: ConformanceReport) => void)[] {
  const files = [
    [junit, renderJunit],
    [html, renderHtml],
    [badge, renderBadge],
  ] as const;
  return files.flatMap(([file, render]) => {
    if (file === undefined) return [];
    requireWritable(file);
    return [(report: ConformanceReport) => writeWhole(file, render(report))];
  });
}

function requireWritable(file: string): void {
  try {
    accessSync(dirname(resolve(file)), constants.W_OK);
  } catch (error) {
    throw usageError(`cannot write ${file}: its folder does not exist or is not writable`, error);
  }
  if (statSync(file, { throwIfNoEntry: false })?.isDirectory() === true)
    throw usageError(`cannot write ${file}: it is a folder`);
}

/** Keeps an earlier report until the new one is complete. */
function writeWhole(file: string, content: string): void {
  const part = `${file}.${process.pid}.part`;
  try {
    writeFileSync(part, content);
    renameSync(part, file);
  } catch (error) {
    rmSync(part, { force: true });
    throw new CliError(`cannot write ${file}`, { cause: error });
  }
}
