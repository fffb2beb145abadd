import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';

import type { CampaignOptions, CampaignReport } from './report.ts';

/** Writes a file such that a crash leaves the old or the new content. */
export function writeFile(path: string, content: string): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(`${path}.new`, content);
  renameSync(`${path}.new`, path);
}

export const readReport = (path: string): CampaignReport => JSON.parse(readFileSync(path, 'utf8'));

/** Reads the finished rounds of a campaign. Throws if it had other options. */
export function readState(path: string, options: CampaignOptions): CampaignReport {
  const state = readReport(path);
  const different = Object.entries(options).filter(
    ([name, value]) => Object.entries(state.options).find(([other]) => other === name)?.[1] !== value,
  );
  if (different.length === 0) return state;
  const names = different.map(([name]) => name).join(', ');
  throw new Error(
    `${path} belongs to a campaign with another value of: ${names}. Use its options, or leave out --resume.`,
  );
}
