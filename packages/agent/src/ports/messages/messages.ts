import type { ClassicType } from '@footbridge/protocol/metadata';

import type { FileState } from './attachment-files.ts';
import type { MessageBody } from './message-body.ts';
import type { MessagesShape } from './messages-shape.ts';
import type { Failed, Outcome } from '../../outcome.ts';

/**
 * The Messages app: its store, and sending through it.
 *
 * - Callers make one call at a time. An engine identifies the row of a send by assuming that no other send runs.
 * - `send` resolves when the store shows the outcome. `delivered`: the message has a row and left the Mac.
 * - `react` presses a Tapback in the picker. A press is a toggle: it removes a Tapback that is already active. The result
 *   says that the press was made; the caller checks the store for its effect (M6).
 * - Expected failures are results with a code of the contract. When `send` throws, the outcome is unknown.
 */
export interface Messages {
  readonly store: MessageStore;
  /** Returns the newest snapshot. The engine refreshes it in the background. */
  environment(): Environment;
  /** Returns what this engine can do on this Mac now, for the registration. No setting can add a capability. */
  capabilities(): readonly string[];
  send(message: OutgoingMessage, destination: Destination, options?: SendOptions): Promise<Outcome>;
  /**
   * Looks for the outcome of an interrupted `send`, and may wait for it. Sends nothing. `since` is the position of the store before the
   * send. The file may be gone. The outcome is `unknown` unless the store shows that the message was sent or failed, or the engine knows
   * that the send did not begin.
   */
  outcomeOf(message: ExpectedMessage, destination: Destination, since: number): Promise<Outcome>;
  react(press: TapbackPress): Promise<PressResult>;
  /**
   * Makes macOS ask the owner for a permission, unless the owner decided before. Resolves with the decision, or with `unknown` after 150
   * seconds. Absent in an engine that needs no permission.
   */
  requestPermission?(permission: Permission): Promise<PermissionState>;
  /** Absent in an engine that does not read the store and the screen of a Mac itself. */
  readonly shape?: MessagesShape;
  /** Returns the duration of a voice message in milliseconds, if it is known. */
  audioDuration(attachment: StoredAttachment): number | undefined;
  /** Calls the listener when the store may have new rows. Calls can be missed, so callers also poll. Returns an unsubscribe function. */
  watch(listener: () => void): () => void;
  close(): void;
}

/** The permissions that macOS asks the owner for. Full Disk Access is missing, because macOS never asks for it. */
export const PERMISSIONS = ['automation', 'accessibility'] as const;
export type Permission = (typeof PERMISSIONS)[number];
export type PermissionState = 'granted' | 'denied' | 'unknown';

export interface Environment {
  /** For example `26.1`. */
  readonly macos: string;
  /** Whether the owner of the Mac allows UI automation. */
  readonly automation: boolean;
  /** Whether macOS granted the Accessibility permission. */
  readonly accessibility: boolean;
  /** The engine reacts and sends effects without the screen, so it needs neither `automation` nor `accessibility`. */
  readonly withoutScreen?: true;
  /** For the operator. Facts that the engine does not know are absent. */
  readonly report?: EnvironmentReport;
}

export interface EnvironmentReport {
  /** The build of macOS, for example `25B78`. */
  readonly build?: string;
  /** Permissions that the engine observed. */
  readonly permissions?: {
    readonly automation?: 'granted' | 'denied';
    readonly accessibility?: 'granted' | 'denied';
  };
  readonly messages?: {
    readonly running?: boolean;
    readonly signedIn?: boolean;
    readonly services?: readonly ServiceName[];
  };
  readonly session?: 'active' | 'locked' | 'away';
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

export type OutgoingMessage<File = LocalFile> =
  | { readonly kind: 'text'; readonly text: string; readonly effect?: string; readonly replyTo?: string }
  | { readonly kind: 'file'; readonly file: File }
  | { readonly kind: 'voice'; readonly file: File; readonly durationMs?: number }
  | { readonly kind: 'sticker'; readonly file: File; readonly description?: string };

/** A message to look for in the store. Only the name of its file is known. */
export type ExpectedMessage = OutgoingMessage<Pick<LocalFile, 'name'>>;

export interface SendOptions {
  /**
   * Called when Messages received the message or may have received it, before the engine looks for its row. An engine that does not know
   * that moment never calls it.
   */
  readonly onDispatched?: () => void;
  /** Sends a file from this folder only, to find out whether Messages reads the folder. Ignored by an engine that does not stage files. */
  readonly folder?: FileFolder;
}

/** Folders for files that Messages sends: its own folder, its container, and the owner's pictures, which only the selftest uses. */
export const FILE_FOLDERS = ['messages', 'container', 'pictures'] as const;
export type FileFolder = (typeof FILE_FOLDERS)[number];

export interface TapbackPress {
  readonly chatId: number;
  readonly targetGuid: string;
  /** The part of the message. Undefined: the part that Messages selects. */
  readonly part?: number;
  readonly tapback:
    | { readonly kind: 'classic'; readonly type: ClassicType }
    | { readonly kind: 'emoji'; readonly emoji: string }
    | { readonly kind: 'sticker'; readonly file: LocalFile; readonly description?: string };
}

export type PressResult = { readonly state: 'pressed' } | Failed;

/** Why the message store cannot be read. */
export type StoreProblem =
  /** macOS does not allow the agent to read it: Full Disk Access is missing. */
  | 'denied'
  /** There is no store: Messages was never opened by this user. */
  | 'absent'
  /** The store has no tables yet: Messages is not signed in. */
  | 'empty'
  | 'corrupt'
  /** Another process keeps it locked for longer than the agent waits. */
  | 'locked';

/** `replaced`: readable, and another store than before. Chat ids from before are unknown (M11). */
export type StoreState = 'readable' | 'replaced' | StoreProblem;

export function isReadable(state: StoreState): boolean {
  return state === 'readable' || state === 'replaced';
}

/** The store cannot be read now. The engine tries again by itself. */
export class StoreUnavailableError extends Error {
  override readonly name = 'StoreUnavailableError';
  readonly problem: StoreProblem;

  constructor(problem: StoreProblem, options?: ErrorOptions) {
    super(`The message store cannot be read: ${problem}`, options);
    this.problem = problem;
  }
}

/**
 * Read access to the message store. Needs only read permission on its file. Every method but `state` throws a
 * StoreUnavailableError when the store cannot be read.
 */
export interface MessageStore {
  state(): StoreState;
  /**
   * Returns the number of this store, which grows when the store was rebuilt, restored or replaced and its row ids restart. A chat id
   * contains this number, so chat ids of another generation are unknown (M11).
   */
  generation(): number;
  newestRowid(): number;
  /** Returns the place of the newest row as a number that is unique over all generations. */
  position(): number;
  /** Returns rows in insertion order. An edited or unsent message keeps its row. */
  rowsAfter(rowid: number, limit: number): StoredRow[];
  /**
   * Returns the guids of the messages that people sent since this time, in insertion order. A message without a valid date counts unless a
   * later row is older than this time. Reads every row of the store.
   */
  guidsSince(time: number): string[];
  row(rowid: number): StoredRow | undefined;
  rowByGuid(guid: string): StoredRow | undefined;
  chat(id: number): Chat | undefined;
  /**
   * Returns the group with exactly these recipients. Of several groups, a group of `service` wins, then the group with the newest message.
   * Returns `ambiguous` when neither decides.
   */
  groupOf(recipients: readonly string[], service: ServiceName): Chat | 'ambiguous' | undefined;
  /** Returns the chat with this person alone to which a message on this service belongs. */
  directChat(handle: string, service: ServiceName): Chat | undefined;
  /** Returns the newest messages and Tapbacks in the chats with this person alone, over all services, newest first. */
  history(handle: string, limit: number): StoredRow[];
  /** The addresses that this Mac sends from. */
  ownHandles(): readonly string[];
  /** Returns the current reaction of this Mac to a part of a message, or without `part` to any part. */
  ownReaction(targetGuid: string, part?: number): OwnReaction | undefined;
  /** Returns the send state of an outgoing message. */
  sendState(guid: string): SendState | undefined;
  /** Returns the parts and mentions of a message, if its body has them. */
  body(guid: string): MessageBody | undefined;
}

/**
 * Decides whether a row is read, and records which row is being read, so that a row that crashes the agent twice is set aside (I10).
 * Without a guard, every row is read.
 */
export interface RowGuard {
  /** Returns the result of `read`, or undefined without calling it for a row that is not read now. */
  read<T>(guid: string, read: () => T): T | undefined;
}

export interface SendState {
  readonly guid: string;
  readonly finished: boolean;
  readonly sent: boolean;
  /** Only direct iMessage chats have delivery receipts. */
  readonly delivered: boolean;
  /** The error number of Messages, 0 for none. */
  readonly error: number;
}

export interface Chat {
  readonly id: number;
  /** The name that Messages gives the chat. Unlike the id, it is the same in a rebuilt store. */
  readonly key: string;
  readonly isGroup: boolean;
  /** The other members, without the Mac's own address. */
  readonly recipients: readonly string[];
  readonly service: ServiceName;
  /** Since macOS 26 a chat can have messages of several services: each row has its own. */
  readonly services: readonly ServiceName[];
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
  /** The row is the received copy of a message that this Mac sent to one of its own addresses. */
  readonly isEcho: boolean;
  readonly service: ServiceName;
  readonly text: string;
  readonly bodyState: BodyState;
  /** Messages' own transcription of a voice message. */
  readonly transcript: string | undefined;
  /** Undefined when the row has no valid date. */
  readonly sentAt: number | undefined;
  /** False for group events: a member joined or left, the group was renamed. */
  readonly isMessage: boolean;
  /** The guard did not let the content be read. Only the ids, `chatId`, `fromMe` and `isMessage` are valid (I10). */
  readonly isNotRead?: true;
  /** The sender unsent the whole message. */
  readonly unsent: boolean;
  readonly edited: boolean;
  /** Messages filed the message under unknown senders or junk. */
  readonly filtered: boolean;
  readonly tapback: StoredTapback | undefined;
  /** `expressive_send_style_id`. */
  readonly effect: string | undefined;
  readonly replyTo: string | undefined;
  readonly isVoice: boolean;
  /** The id of the app that shows the message, for example `LINK_PREVIEW`. */
  readonly balloon: string | undefined;
  /** The guid of the text with the link, if the row is only the preview of a link. */
  readonly previewOf: string | undefined;
  /** The rows of some attachments are still missing. */
  readonly expectsAttachments: boolean;
  readonly attachments: readonly StoredAttachment[];
}

/** The `balloon` of a link and of its preview. */
export const LINK_PREVIEW = 'com.apple.messages.URLBalloonProvider';

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
  readonly state: FileState;
}

/**
 * - `read`: the text is complete.
 * - `recovered`: the body is damaged; the text was found in its bytes and may not be complete.
 * - `pending`: Messages has not stored the body yet.
 * - `unreadable`: the body cannot be decoded.
 */
export type BodyState = 'read' | 'recovered' | 'pending' | 'unreadable';
