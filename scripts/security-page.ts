// The tables in docs/security.md that are made from the limits in code.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

import { CONVERSIONS } from '@footbridge/media/converter';
import { BUDGETS } from '@footbridge/service/platform/budgets';
import type { Budget } from '@footbridge/service/platform/budgets';
import { CRM_CALLS } from '@footbridge/service/relay/crm/transport-http';
import { HANDOVERS } from '@footbridge/service/relay/inbound/prepare-attachments';
import { S3_PARTS } from '@footbridge/service/relay/assets/assets-s3';

const PAGE = 'docs/security.md';
const MIB = 1_048_576;

export function securityPage(root: string): string {
  const page = readFileSync(join(root, PAGE), 'utf8');
  return replaced(replaced(page, 'budgets', requests()), 'work', work());
}

/** Replaces the text between the two markers. */
function replaced(page: string, name: string, text: string): string {
  const start = page.indexOf('-->\n', page.indexOf(`<!-- ${name}: `));
  const end = page.indexOf(`<!-- end of ${name} -->`);
  if (start === -1 || end < start) throw new Error(`${PAGE} has no markers for ${name}`);
  return `${page.slice(0, start)}-->\n\n${text}\n\n${page.slice(end)}`;
}

function requests(): string {
  return table(
    [
      'requests',
      'slots',
      'per address',
      'per license',
      'per device',
      'memory',
      'without progress',
      'at most',
      'when full',
    ],
    Object.values<Budget>(BUDGETS).map((budget) => row(budget)),
  );
}

function row({ about, slots, memoryBytes, stall, maxMs, dropsIncomplete }: Budget): string[] {
  const bytes = stall.bytes === 1 ? '1 byte' : `${stall.bytes / 1024} KiB`;
  return [
    about,
    String(slots.total),
    String(slots.perAddress ?? ''),
    String(slots.perLicense ?? ''),
    String(slots.perDevice ?? ''),
    `${memoryBytes / MIB} MiB`,
    `${seconds(stall.ms)} for ${bytes}`,
    seconds(maxMs),
    dropsIncomplete ? 'drops the oldest request that waits for its client, else 503' : '503',
  ];
}

function work(): string {
  const { slots, maxWaitingPerTenant, timeoutMs, queueTimeoutMs } = CONVERSIONS;
  const aCall = `${seconds(CRM_CALLS.timeoutMs)} a call`;
  return table(
    ['work', 'at a time', 'per location', 'waiting', 'time'],
    [
      [
        'connections to the CRM',
        String(CRM_CALLS.connections),
        QUARTER,
        'within the deadline of the call',
        aCall,
      ],
      [
        'conversions',
        String(slots),
        QUARTER,
        `${maxWaitingPerTenant} files per location, ${seconds(queueTimeoutMs)}`,
        `${seconds(timeoutMs)} each`,
      ],
      [
        "attachments on their way to the CRM's storage",
        `${HANDOVERS.slots} of ${HANDOVERS.maxBytes / 1e6} MB`,
        QUARTER,
        'with their messages, on the Mac',
        aCall,
      ],
      [
        'parts of files on their way to S3',
        `${S3_PARTS.slots} of ${S3_PARTS.bytes / MIB} MiB`,
        '1 per file',
        'complete files, on the disk',
        '60 s a part',
      ],
    ],
  );
}

const QUARTER = 'a quarter of the free ones, at least one';

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`;
  return [line(head), `|${'---|'.repeat(head.length)}`, ...rows.map((cells) => line(cells))].join('\n');
}

const seconds = (ms: number) => `${ms / 1000} s`;
