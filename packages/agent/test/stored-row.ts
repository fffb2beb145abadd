import type { StoredRow } from '../src/ports/messages/messages.ts';

export const ANNA = '+15550100001';

/** A text from Anna, without anything special. */
export const TEXT_ROW: StoredRow = {
  rowid: 1,
  guid: 'GUID',
  chatId: 1,
  fromMe: false,
  sender: ANNA,
  isEcho: false,
  service: 'iMessage',
  text: 'Hello',
  bodyState: 'read',
  transcript: undefined,
  sentAt: 0,
  isMessage: true,
  unsent: false,
  edited: false,
  filtered: false,
  tapback: undefined,
  effect: undefined,
  replyTo: undefined,
  isVoice: false,
  balloon: undefined,
  previewOf: undefined,
  expectsAttachments: false,
  attachments: [],
};
