import type { StatusCode } from '@footbridge/protocol/codes';
import type { ClassicType } from '@footbridge/protocol/metadata';

import type { TapbackLocale } from './tapback-texts.ts';

export type ServiceName = 'iMessage' | 'SMS' | 'RCS';

/** Converts between the ids of chats outside the simulation and the rows of its store. */
export interface ChatIds {
  readonly idOf: (rowid: number) => number;
  /** Returns undefined for an id of another store. */
  readonly rowOf: (chatId: number) => number | undefined;
}

/** Controls a simulated Messages: plays the people on the other side, injects faults and shows every conversation. */
export interface Simulation {
  readonly people: People;
  view(): SimulationView;
  change(change: SimulationChange): void;
}

/** An impossible action, for example on an unknown message or in a group of one. */
export class SimulationError extends Error {
  override readonly name = 'SimulationError';
}

/** The actions of the people on the other side. Every method throws a SimulationError for an impossible action. */
export interface People {
  say(handle: string, message: PersonMessage): { guid: string; chatId: number };
  /** The owner of the Mac texts this person, on the Mac or on a phone. */
  hear(handle: string, text: string): { guid: string; chatId: number };
  react(handle: string, reaction: PersonReaction): { guid: string };
  sticker(handle: string, file: SimulatedFile, chatId?: number): { guid: string; chatId: number };
  edit(handle: string, guid: string, text: string): void;
  unsend(handle: string, guid: string): void;
  leave(handle: string, chatId: number): void;
  /** Sets whether the person's number is on iMessage. */
  change(handle: string, change: { readonly imessage: boolean }): void;
  group(recipients: readonly string[], service?: ServiceName): { chatId: number };
}

export interface PersonMessage {
  readonly text?: string;
  readonly chatId?: number;
  readonly service?: ServiceName;
  readonly effect?: string;
  readonly replyTo?: string;
  readonly attachments?: readonly SimulatedFile[];
  readonly voice?: SimulatedFile & { readonly durationMs: number };
}

export type PersonReaction = {
  readonly targetGuid: string;
  readonly action: 'add' | 'remove';
  readonly locale?: TapbackLocale;
} & (
  | { readonly kind: 'classic'; readonly type: ClassicType }
  | { readonly kind: 'emoji'; readonly emoji: string }
  | { readonly kind: 'sticker'; readonly sticker?: SimulatedFile }
);

export interface SimulatedFile {
  readonly name: string;
  readonly mime: string;
  readonly bytes: Uint8Array;
  /** How much later than its message the file arrives. */
  readonly delayMs?: number;
}

export const JOB_KINDS = ['text', 'attachment', 'animation', 'voice', 'reaction', 'sticker'] as const;
export type JobKind = (typeof JOB_KINDS)[number];

/** Makes the next `times` jobs of a kind end with `code`. After `OUTCOME_UNKNOWN` the store never shows whether the message was sent. */
export interface Fault {
  readonly job: JobKind;
  readonly code: FaultCode;
  readonly times: number;
}

export const OUTCOME_UNKNOWN = 'OUTCOME_UNKNOWN';
export type FaultCode = StatusCode | typeof OUTCOME_UNKNOWN;

export interface SimulationChange {
  readonly macos?: string;
  readonly permissions?: { readonly accessibility?: boolean; readonly automation?: boolean };
  readonly delayMs?: number;
  readonly faults?: readonly Fault[];
}

const MACOS_VERSION = /^(1[2-9]|[2-9]\d)(\.\d{1,3}){0,2}$/;
export const MACOS_VERSION_RULE = 'must be a version from 12 to 99, such as 26.1';

/** Whether a text is a version of macOS that can be simulated. */
export function isMacosVersion(text: string): boolean {
  return MACOS_VERSION.test(text);
}

export interface SimulationView {
  readonly macos: string;
  readonly permissions: { readonly accessibility: boolean; readonly automation: boolean };
  readonly chats: readonly ChatView[];
}

export interface ChatView {
  readonly id: number;
  readonly isGroup: boolean;
  /** The other members, without the Mac's own address. */
  readonly recipients: readonly string[];
  readonly service: ServiceName;
  readonly messages: readonly MessageView[];
}

export interface MessageView {
  readonly guid: string;
  /** `me`, or the handle of the sender. */
  readonly from: string;
  readonly text: string;
  readonly service: string;
  /** Milliseconds since 1970. */
  readonly sentAt: number;
  readonly effect?: string;
  readonly replyTo?: string;
  readonly attachments: readonly FileView[];
  readonly voice?: { readonly durationMs?: number; readonly mime: string };
  readonly sticker?: { readonly name: string; readonly mime: string };
  readonly reactions: readonly ReactionView[];
  readonly state: 'sent' | 'delivered' | 'failed';
}

export interface ReactionView {
  readonly from: string;
  readonly kind: string;
  readonly type?: string;
  readonly emoji?: string;
  readonly sticker?: { readonly name: string; readonly mime: string };
}

export interface FileView {
  readonly name: string;
  readonly mime: string;
  readonly size: number;
  readonly sha256: string;
}
