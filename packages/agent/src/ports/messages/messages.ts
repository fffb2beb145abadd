import type { StatusCode } from '@footbridge/protocol/codes';
import type { ClassicType } from '@footbridge/protocol/metadata';

/**
 * Messages, the program on the Mac: what it holds and what it can be made to do.
 *
 * - One call at a time: how a send is recognised in the store depends on nobody else sending meanwhile.
 * - `send` answers when the store shows how it ended. `sent`: the row is there and left the Mac. `failed`: it is certain
 *   that the person did not get it. `unknown`: neither; whoever asked must not send again.
 * - `react` is a press on the picker, and a press is a toggle: what is active goes away. It answers that the press was
 *   made, not that it worked; the store tells (M6).
 * - Expected failures are answers with a code of the contract. An engine that throws is broken: the outcome of a send
 *   that throws is unknown.
 */
export interface Messages {
  readonly store: MessageStore;
  environment(): Environment;
  send(message: OutgoingMessage, destination: Destination): Promise<SendResult>;
  react(press: TapbackPress): Promise<PressResult>;
  /** How long a recording is, where that can be told. */
  audioDuration(attachment: StoredAttachment): number | undefined;
  /** Calls the listener when the store may hold something new. Missed calls are possible: poll as well. */
  watch(listener: () => void): () => void;
  close(): void;
}

export interface Environment {
  /** As in `26.1`. */
  readonly macos: string;
  /** Whether the owner lets the agent use the screen's controls at all. */
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
  /** The group of exactly these people, made when there is none. */
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
  /** The person has no iMessage: the one failure after which SMS may be tried without risk of a second copy. */
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

/** What Messages has stored. Reading needs no permission but that of the file; it never changes anything. */
export interface MessageStore {
  /** Changes when the store was rebuilt and its row numbers started anew. */
  identity(): string;
  newestRowid(): number;
  /** Rows in the order in which they were written; an edited or unsent message keeps its row. */
  rowsAfter(rowid: number, limit: number): StoredRow[];
  row(rowid: number): StoredRow | undefined;
  rowOf(guid: string): StoredRow | undefined;
  chat(id: number): Chat | undefined;
  /** The group with exactly these members. */
  groupOf(recipients: readonly string[]): Chat | undefined;
  /** Addresses under which this Mac itself writes. */
  ownHandles(): readonly string[];
  /** The one reaction that this Mac has on a message at present. */
  ownReaction(targetGuid: string): OwnReaction | undefined;
}

export interface Chat {
  readonly id: number;
  readonly isGroup: boolean;
  /** The others; never the Mac's own address. */
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
  /** Undefined while Messages has not filed the row yet. */
  readonly chatId: number | undefined;
  readonly fromMe: boolean;
  readonly sender: string | undefined;
  readonly service: ServiceName;
  readonly text: string;
  readonly sentAt: number;
  /** False for what the program notes by itself: somebody joined, left, renamed the group. */
  readonly isMessage: boolean;
  /** Taken back by its author. */
  readonly unsent: boolean;
  readonly tapback: StoredTapback | undefined;
  /** `expressive_send_style_id`. */
  readonly effect: string | undefined;
  readonly replyTo: string | undefined;
  readonly isVoice: boolean;
  /** Files that the message will have, even while they are still on their way. */
  readonly expectsAttachments: boolean;
  readonly attachments: readonly StoredAttachment[];
}

export interface StoredTapback {
  /** `associated_message_type`. */
  readonly type: number;
  /** As stored, with the prefix that tells the part of the message. */
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
  /** The file is here, whole. */
  readonly ready: boolean;
}
