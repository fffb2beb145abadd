import type { StoredRow } from './messages.ts';
import { WITHOUT_CONTENT } from './rows.ts';

export const ANNA = '+15550100001';

/** A text from Anna, without anything special. */
export const TEXT_ROW: StoredRow = {
  ...WITHOUT_CONTENT,
  rowid: 1,
  guid: 'GUID',
  chatId: 1,
  fromMe: false,
  sender: ANNA,
  text: 'Hello',
  bodyState: 'read',
  sentAt: 0,
  isMessage: true,
};
