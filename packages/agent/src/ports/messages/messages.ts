import type { StatusCode } from '@footbridge/protocol/codes';
import type { ClassicType } from '@footbridge/protocol/metadata';

/**
 * The Messages app: its store, and sending through it.
 *
 * - Callers make one call at a time. An engine identifies the row of a send by assuming that no other send runs.
 * - `send` resolves when the store shows the outcome. `sent`: the row exists and has left the Mac. `failed`: the person
 *   certainly did not receive it. `unknown`: neither is certain, and the caller must not send again.
 * - `react` presses a Tapback in the picker. A press is a toggle: it removes a Tapback that is already active. The result
 *   says that the press was made; the caller checks the store for its effect (M6).
 * - Expected failures are results with a code of the contract. When `send` throws, the outcome is unknown.
 */
export interface Messages {
  readonly store: MessageStore;
  environment(): Environment;
  send(message: OutgoingMessage, destination: Destination): Promise<SendResult>;
  react(press: TapbackPress): Promise<PressResult>;
  /** Returns the duration of a voice message in milliseconds, if it is known. */
  audioDuration(attachment: StoredAttachment): number | undefined;
  /** Calls the listener when the store may have new rows. Calls can be missed, so callers also poll. Returns an unsubscribe function. */
  watch(listener: () => void): () => void;
  close(): void;
}

export interface Environment {
  /** For example `26.1`. */
  readonly macos: string;
  /** Whether the owner of the Mac allows UI automation. */
  readonly automation: boolean;
  /** Whether macOS granted the Accessibility permission. */
  readonly accessibility: boolean;
}

export function macosMajor(environment: Environment): number {
  return Number.parseInt(environment.macos, 10);
}

export type ServiceName = 'iMessage' | 'SMS' | 'RCS';

export type Destination =
  | { readonly to: 'chat'; readonly chatId: number }
  | { readonly to: 'person'; readonly handle: string; readonly service: ServiceName }
  /** The group with exactly these recipients; created if there is none. */
  | { readonly to: 'group'; readonly recipients: readonly string[]; readonly service: ServiceName };

export interface LocalFile {
  readonly path: string;
  readonly name: string;
  readonly mime: string;
}

export type OutgoingMessage =
  | { readonly kind: 'text'; readonly text: string; readonly effect?: string; readonly replyTo?: string }
  | { readonly kind: 'file'; readonly file: LocalFile }
  | { readonly kind: 'voice'; readonly file: LocalFile; readonly durationMs?: number }
  | { readonly kind: 'sticker'; readonly file: LocalFile; readonly description?: string };

export interface SendFailure {
  readonly result: 'failed';
  readonly code: StatusCode;
  readonly message: string;
  /** The recipient is not on iMessage. Only after this failure can SMS be tried without risk of a duplicate. */
  readonly notOnIMessage?: true;
}

export type SendResult =
  | { readonly result: 'sent'; readonly guid: string }
  | SendFailure
  | { readonly result: 'unknown'; readonly code: 'TIMEOUT' | 'INTERNAL_ERROR'; readonly message: string };

export interface TapbackPress {
  readonly chatId: number;
  readonly targetGuid: string;
  readonly tapback:
    | { readonly kind: 'classic'; readonly type: ClassicType }
    | { readonly kind: 'emoji'; readonly emoji: string }
    | { readonly kind: 'sticker'; readonly file: LocalFile; readonly description?: string };
}

export type PressResult =
  | { readonly result: 'pressed' }
  | { readonly result: 'failed'; readonly code: StatusCode; readonly message: string };

/** Read access to the message store. Needs only read permission on its file. */
export interface MessageStore {
  /**
   * The number of this store. It grows when the store was rebuilt, restored or replaced and its row ids restart. Chat ids
   * contain it: those of another generation are unknown (M11).
   */
  generation(): number;
  newestRowid(): number;
  /** Returns rows in insertion order. An edited or unsent message keeps its row. */
  rowsAfter(rowid: number, limit: number): StoredRow[];
  row(rowid: number): StoredRow | undefined;
  rowByGuid(guid: string): StoredRow | undefined;
  chat(id: number): Chat | undefined;
  /** Returns the group with exactly these recipients. */
  groupOf(recipients: readonly string[]): Chat | undefined;
  /** The addresses that this Mac sends from. */
  ownHandles(): readonly string[];
  /** Returns the current reaction of this Mac to a message. There is at most one. */
  ownReaction(targetGuid: string): OwnReaction | undefined;
}

export interface Chat {
  readonly id: number;
  readonly isGroup: boolean;
  /** The other members, without the Mac's own address. */
  readonly recipients: readonly string[];
  readonly service: ServiceName;
}

export type OwnReaction =
  | { readonly kind: 'classic'; readonly type: ClassicType }
  | { readonly kind: 'emoji'; readonly emoji: string | undefined }
  | { readonly kind: 'sticker'; readonly fileName: string | undefined };

export interface StoredRow {
  readonly rowid: number;
  readonly guid: string;
  /** Undefined until Messages joins the row to a chat, which it does after inserting it. */
  readonly chatId: number | undefined;
  readonly fromMe: boolean;
  readonly sender: string | undefined;
  readonly service: ServiceName;
  readonly text: string;
  readonly sentAt: number;
  /** False for group events: a member joined or left, the group was renamed. */
  readonly isMessage: boolean;
  /** The sender unsent the message. */
  readonly unsent: boolean;
  readonly tapback: StoredTapback | undefined;
  /** `expressive_send_style_id`. */
  readonly effect: string | undefined;
  readonly replyTo: string | undefined;
  readonly isVoice: boolean;
  /** The message has attachments, even if their rows are not there yet. */
  readonly expectsAttachments: boolean;
  readonly attachments: readonly StoredAttachment[];
}

export interface StoredTapback {
  /** `associated_message_type`. */
  readonly type: number;
  /** As stored, with the prefix for the part of the message. */
  readonly targetRaw: string;
  readonly targetGuid: string;
  readonly emoji: string | undefined;
}

export interface StoredAttachment {
  readonly guid: string;
  readonly path: string | undefined;
  readonly name: string;
  readonly mime: string;
  readonly isSticker: boolean;
  readonly description: string | undefined;
  /** The file is downloaded completely. */
  readonly ready: boolean;
}
