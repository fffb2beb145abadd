import { MAX_ATTACHMENTS } from '@footbridge/protocol/frames';

import { Rejection } from './rejection.ts';

const MAX_URL = 2048;
// No URL contains control characters or lone surrogates; escaped in JSON they would make the frame six times larger.
const WEB_URL = /^https?:\/\/[^\p{Cc}\p{Cs}]+$/iu;

/** W5. `received` is the index of the first invalid entry; the 21st entry is always invalid. A value that is not a list has none: 0. */
export function checkAttachments(attachments: unknown): string[] | Rejection {
  if (!Array.isArray(attachments)) return new Rejection('INVALID_ATTACHMENTS', { received: 0 });
  const urls = attachments.slice(0, MAX_ATTACHMENTS).filter(isWebUrl);
  if (urls.length === attachments.length) return urls;
  const fault = attachments.findIndex((entry, at) => at >= MAX_ATTACHMENTS || !isWebUrl(entry));
  return new Rejection('INVALID_ATTACHMENTS', { received: fault });
}

function isWebUrl(entry: unknown): entry is string {
  return typeof entry === 'string' && entry.length <= MAX_URL && WEB_URL.test(entry) && URL.canParse(entry);
}
