import { parseMacFrame } from '@footbridge/protocol/frames';
import type { MacFrame, Parsed } from '@footbridge/protocol/frames';
import { exceedsJsonLimits } from '@footbridge/protocol/json-size';

/** No known frame has that many objects, names or items. */
const JSON_LIMITS = { brackets: 4096, names: 4096, commas: 16_384 } as const;

/** Parses a frame sent by a Mac. An object that would take long to parse counts as one of an unknown type (T54). */
export function readMacFrame(data: Uint8Array, text: string): Parsed<MacFrame> {
  if (!exceedsJsonLimits(data, JSON_LIMITS)) return parseMacFrame(text);
  return text.trimStart().startsWith('{')
    ? { kind: 'unknown', type: '' }
    : { kind: 'invalid', reason: 'a frame must be one JSON object' };
}
