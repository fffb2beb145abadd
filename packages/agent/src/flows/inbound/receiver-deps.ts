import type { Clock } from '@footbridge/runtime/clock';
import type { BlockingFailpoint } from '@footbridge/runtime/failpoints';
import type { Log } from '@footbridge/runtime/log';

import type { Journal } from '../../journal/journal.ts';
import type { LocalFile, Messages, StoredRow } from '../../ports/messages/messages.ts';
import type { Suspects } from '../../suspects/suspects.ts';

export type UploadResult =
  | { readonly ok: true; readonly url: string }
  /** `final`: the service will never accept this file. */
  | { readonly ok: false; readonly final: boolean; readonly reason: string };

/** Uploads a file to the service, which returns a URL for the CRM. Makes one attempt and never rejects. */
export interface Uploads {
  upload(file: LocalFile, signal: AbortSignal): Promise<UploadResult>;
}

export interface ReceiverSettings {
  /** The poll interval, for changes that the store did not announce. */
  readonly pollMs: number;
  /** How long a row without a chat delays the chats that it may belong to. */
  readonly chatJoinTimeoutMs: number;
  /** How long a row without a chat is kept. Messages leaves some rows without a chat for ever. */
  readonly orphanMs: number;
  /** How long a message waits for its attachments before it is sent without them. */
  readonly attachmentWaitMs: number;
  /** How long a row waits for its body, which Messages sometimes stores later. */
  readonly bodyWaitMs: number;
  /** How long a link preview waits for the text that it belongs to. */
  readonly previewWaitMs: number;
  /** Whether messages from unknown senders and junk are reported. */
  readonly forwardFiltered: boolean;
  /** Older messages come from a history sync and are not reported. */
  readonly maxAgeMs: number;
  readonly retryBaseMs: number;
  readonly retryCapMs: number;
}

export interface ReceiverDeps {
  readonly messages: Pick<Messages, 'store' | 'watch' | 'audioDuration'>;
  readonly journal: Journal;
  readonly uploads: Uploads;
  readonly suspects: Pick<Suspects, 'during' | 'isSetAside' | 'acquit'>;
  readonly clock: Clock;
  readonly log: Log;
  readonly failpoint: BlockingFailpoint;
  readonly settings: ReceiverSettings;
  /** Whether messages that the owner types on this Mac or another device are reported too. */
  readonly mirrors: () => boolean;
  /** Whether a row is a text that the agent sent to its own number to test the line. */
  readonly isCanary: (row: StoredRow) => boolean;
  /** Called when there are new frames in the outbox. */
  readonly onFrames: () => void;
}
