import { parseBuffer } from 'bplist-parser';

import { runBounded } from './run-bounded.ts';

/** What happened to the parts of a message after it was sent. */
export interface SummaryInfo {
  readonly retracted: readonly number[];
  readonly edited: readonly number[];
}

const MAX_BYTES = 4 * 1024 * 1024;
const NOTHING: SummaryInfo = { retracted: [], edited: [] };

/** Reads `message_summary_info`, a binary property list. One that cannot be read says nothing. */
export function readSummaryInfo(bytes: Uint8Array): SummaryInfo {
  if (bytes.byteLength > MAX_BYTES) return NOTHING;
  const blob = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const info = runBounded<unknown>(() => parseBuffer<unknown>(blob)[0]);
  if (typeof info !== 'object' || info === null) return NOTHING;
  return {
    retracted: 'rp' in info ? partsOf(info.rp) : [],
    edited: 'ep' in info ? partsOf(info.ep) : [],
  };
}

function partsOf(value: unknown): number[] {
  if (!Array.isArray(value)) return [];
  return (value as unknown[]).filter((part): part is number => Number.isSafeInteger(part));
}
