import { MAX_ATTACHMENTS } from '@footbridge/protocol/frames';

import { Refusal } from './refusal.ts';

const MAX_URL = 2048;
// Control characters and halves of surrogate pairs are in no URL, and would swell the frame to the Mac sixfold.
const WEB_URL = /^https?:\/\/[^\p{Cc}\p{Cs}]+$/iu;

/** W5. `received` is the index of the first entry at fault; the 21st is always one. */
export function checkAttachments(attachments: readonly unknown[]): string[] | Refusal {
  const urls = attachments.slice(0, MAX_ATTACHMENTS).filter(isWebUrl);
  if (urls.length === attachments.length) return urls;
  const fault = attachments.findIndex((entry, at) => at >= MAX_ATTACHMENTS || !isWebUrl(entry));
  return new Refusal('INVALID_ATTACHMENTS', { received: fault });
}

function isWebUrl(entry: unknown): entry is string {
  return typeof entry === 'string' && entry.length <= MAX_URL && WEB_URL.test(entry) && URL.canParse(entry);
}
