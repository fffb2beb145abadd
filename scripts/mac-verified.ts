// What the records of selftests on Macs have verified, as a table for `footbridge-agent doctor` and for docs/mac-verified.md.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

import { readRecords, RECORDS } from './selftest-records.ts';

const PAGE = 'docs/mac-verified.md';
const NOT_VERIFIED = 'not yet verified on a Mac';

/** The capabilities of the engine for Macs, each with the selftest step of the same name. */
const CAPABILITIES = [
  'text',
  'attachments',
  'groups',
  'voice',
  'replies',
  'animations',
  'reactions',
  'emoji-reactions',
];

/** Returns the versions of macOS on which a record of a real Mac verified each capability. */
function verifiedVersions(root: string): { capability: string; macos: string }[] {
  const records = [...readRecords(root).values()].filter(({ onMac }) => onMac);
  return CAPABILITIES.map((capability) => {
    const verified = records.filter(({ steps }) =>
      steps.some(({ name, verdict }) => name === capability && verdict === 'verified'),
    );
    const versions = new Set(verified.map(({ macos }) => macos.version));
    return { capability, macos: [...versions].toSorted(byVersion).join(', ') };
  });
}

const byVersion = (a: string, b: string): number => a.localeCompare(b, 'en', { numeric: true });

/** The table as a file of the agent, which has no records with it. */
export function verifiedTable(root: string): string {
  const rows = verifiedVersions(root).map(
    ({ capability, macos }) => `  { capability: '${capability}', macos: '${macos}' },\n`,
  );
  return `/**
 * The versions of macOS on which a selftest verified each capability, separated by commas. Made from the records in
 * ${RECORDS} by \`npm run check -- --write\`.
 */
export const VERIFIED_ON_MAC: readonly { readonly capability: string; readonly macos: string }[] = [
${rows.join('')}];
`;
}

/** The page with its table from the records. */
export function verifiedPage(root: string): string {
  const rows = verifiedVersions(root).map(
    ({ capability, macos }) => `| \`${capability}\` | ${macos === '' ? NOT_VERIFIED : macos} |\n`,
  );
  const table = /(\| capability \| macOS with a record \|\n\|---\|---\|\n)(?:\|.*\n)*/;
  return readFileSync(join(root, PAGE), 'utf8').replace(table, (_all, head: string) => head + rows.join(''));
}
