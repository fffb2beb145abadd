// The table of budgets in docs/security.md, made from packages/service/src/budgets.ts.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

import { BUDGETS } from '@footbridge/service/budgets';
import type { Budget } from '@footbridge/service/budgets';

const PAGE = 'docs/security.md';
const START = '<!-- budgets: made from packages/service/src/budgets.ts by `npm run check -- --write` -->';
const END = '<!-- end of budgets -->';
const MIB = 1_048_576;

export function securityPage(root: string): string {
  const page = readFileSync(join(root, PAGE), 'utf8');
  const [start, end] = [page.indexOf(START), page.indexOf(END)];
  if (start === -1 || end === -1) throw new Error(`${PAGE} has no markers for the budgets`);
  return `${page.slice(0, start)}${START}\n\n${requests()}\n\n${page.slice(end)}`;
}

function requests(): string {
  return [
    '| requests | slots | per address | per license | per device | memory | without progress | at most | when full |',
    '|---|---|---|---|---|---|---|---|---|',
    ...Object.values<Budget>(BUDGETS).map(row),
  ].join('\n');
}

function row({ about, slots, memoryBytes, stall, maxMs, dropsIncomplete }: Budget): string {
  const progress = `${seconds(stall.ms)} for ${stall.bytes === 1 ? '1 byte' : `${stall.bytes / 1024} KiB`}`;
  const cells = [
    about,
    slots.total,
    slots.perAddress ?? '',
    slots.perLicense ?? '',
    slots.perDevice ?? '',
    `${memoryBytes / MIB} MiB`,
    progress,
    seconds(maxMs),
    dropsIncomplete ? 'drops the oldest incomplete request, else 503' : '503',
  ];
  return `| ${cells.join(' | ')} |`;
}

const seconds = (ms: number) => `${ms / 1000} s`;
