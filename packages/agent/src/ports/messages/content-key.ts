import { createHash } from 'node:crypto';

import type { ExpectedMessage, StoredRow } from './messages.ts';
import { fold } from './own-rows.ts';

/** Engines rename and convert files, so all messages with files have the same key. */
const FILES = 'files';

/** Returns a key that a message and its row in the store share. It does not reveal the text. */
export function contentKey(message: ExpectedMessage): string {
  return message.kind === 'text' ? textKey(message.text) : FILES;
}

export function contentKeyOfRow({ text, attachments, expectsAttachments }: StoredRow): string {
  return attachments.length > 0 || expectsAttachments ? FILES : textKey(text);
}

function textKey(text: string): string {
  return createHash('sha256').update(fold(text)).digest('base64url');
}
