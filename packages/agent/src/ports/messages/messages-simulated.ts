import { readFileSync } from 'node:fs';

import { codeEntry } from '@footbridge/protocol/codes';
import type { StatusCode } from '@footbridge/protocol/codes';
import type { Clock } from '@footbridge/runtime/clock';
import { StoredConversations } from '@footbridge/simulator/stored-conversations';
import { MessagesApp } from '@footbridge/simulator/messages-app';
import type { NewMessage } from '@footbridge/simulator/messages-app';
import type { NewAttachment } from '@footbridge/simulator/messages-store';
import { SimulatedPeople } from '@footbridge/simulator/people';
import { OUTCOME_UNKNOWN } from '@footbridge/simulator/simulation';
import type {
  Fault,
  FaultCode,
  JobKind,
  Simulation,
  SimulationChange,
  SimulationView,
} from '@footbridge/simulator/simulation';
import { tapbackText } from '@footbridge/simulator/tapback-texts';
import { tapbackCode } from '@footbridge/protocol/tapbacks';

import { chatIdOf, chatRowOf } from './chat-ids.ts';
import { capabilitiesSince } from './feature-versions.ts';
import { findOutcome, NOT_ON_IMESSAGE } from './find-outcome.ts';
import { MacStore } from './macos/mac-store.ts';

import type {
  Destination,
  Environment,
  ExpectedMessage,
  LocalFile,
  Messages,
  OutgoingMessage,
  Permission,
  PermissionState,
  PressResult,
  RowGuard,
  StoredAttachment,
  TapbackPress,
} from './messages.ts';
import type { StoreMemory } from './store-generation.ts';
import { failed } from '../../outcome.ts';
import type { Failed, Outcome } from '../../outcome.ts';

export interface SimulationOptions {
  /** The simulation persists in this folder. */
  readonly dir: string;
  readonly macos: string;
  readonly memory: StoreMemory;
  readonly guard?: RowGuard | undefined;
  readonly clock: Clock;
}

/** Error numbers in the rows of Messages. */
const SEND_FAILED = 4;

/** Faults that show only in the store: the press succeeds, and no reaction appears. */
const PRESSED_WITHOUT_EFFECT: ReadonlySet<string> = new Set(['EMOJI_NOT_IN_RECENTS', 'STICKER_NOT_FEASIBLE']);

/**
 * Sends through a simulated Messages, with faults on request, and reads its store as on a Mac. Chats and messages persist; permissions,
 * delay and faults do not.
 */
export class SimulatedMessages implements Messages, Simulation {
  readonly people: SimulatedPeople;
  readonly store: MacStore;
  readonly #app: MessagesApp;
  readonly #clock: Clock;
  #macos: string;
  #faults: Fault[] = [];
  #permissions = { accessibility: true, automation: true };
  #delayMs = 0;
  #delayChanged = new AbortController();

  constructor({ dir, macos, memory, guard, clock }: SimulationOptions) {
    this.#clock = clock;
    this.#macos = macos;
    this.#app = new MessagesApp(dir, majorOf(macos), {
      folder: dir,
      clock,
      standalone: true,
    });
    this.store = new MacStore({ home: dir, messages: dir }, memory, guard);
    this.people = new SimulatedPeople(this.#app, {
      idOf: (rowid) => chatIdOf(this.store.generation(), rowid),
      rowOf: (chatId) => chatRowOf(this.store.generation(), chatId),
    });
  }

  environment(): Environment {
    const { accessibility, automation } = this.#permissions;
    return {
      macos: this.#macos,
      accessibility,
      automation,
      report: {
        permissions: { accessibility: granted(accessibility), automation: granted(automation) },
        messages: { running: true, signedIn: true, services: ['iMessage', 'SMS'] },
        session: 'active',
      },
    };
  }

  capabilities(): readonly string[] {
    return capabilitiesSince(this.#macos);
  }

  outcomeOf(message: ExpectedMessage, destination: Destination, since: number): Promise<Outcome> {
    return Promise.resolve(findOutcome(this.store, message, destination, since));
  }

  requestPermission(permission: Permission): Promise<PermissionState> {
    return Promise.resolve(granted(this.#permissions[permission]));
  }

  async send(message: OutgoingMessage, destination: Destination): Promise<Outcome> {
    const fault = this.#takeFault(jobOf(message));
    await this.#waitDelay();
    if (fault !== undefined && fault !== OUTCOME_UNKNOWN && fault !== 'IMESSAGE_ERROR')
      return injected(fault);
    const chatRowid = this.#find(destination);
    if (typeof chatRowid !== 'number') return chatRowid;
    const { service = 'iMessage', members = [] } = this.#app.store.chatRow(chatRowid) ?? {};
    const isReachable = service !== 'iMessage' || members.every((one) => this.#app.store.hasIMessage(one));
    const error = isReachable ? (fault === 'IMESSAGE_ERROR' ? SEND_FAILED : 0) : NOT_ON_IMESSAGE;
    const { guid } = this.#app.write({
      from: 'me',
      chatRowid,
      service,
      error,
      ...(fault === OUTCOME_UNKNOWN && { receipts: 'none' }),
      ...contentOf(message),
    });
    if (fault === OUTCOME_UNKNOWN)
      return { state: 'unknown', code: 'TIMEOUT', message: 'Messages stopped responding during the send' };
    if (error === NOT_ON_IMESSAGE)
      return {
        ...failed('IMESSAGE_ERROR', 'error 22: the recipient is not on iMessage'),
        notOnIMessage: true,
      };
    if (error !== 0) return failed('IMESSAGE_ERROR', 'error 4: the send failed');
    return { state: 'delivered', guid };
  }

  async react(press: TapbackPress): Promise<PressResult> {
    const fault = this.#takeFault('reaction');
    await this.#waitDelay();
    if (fault !== undefined) {
      if (PRESSED_WITHOUT_EFFECT.has(fault)) return { state: 'pressed' };
      return injected(fault === OUTCOME_UNKNOWN ? 'TIMEOUT' : fault);
    }
    const target = this.store.rowByGuid(press.targetGuid);
    const chatRowid = chatRowOf(this.store.generation(), press.chatId);
    if (target?.chatId !== press.chatId || chatRowid === undefined)
      return failed('TARGET_NOT_FOUND', 'the message is not on screen');
    const { tapback, part = 0 } = press;
    const action = this.#isActive(press) ? 'remove' : 'add';
    this.#app.react({
      from: 'me',
      chatRowid,
      service: target.service,
      target: target.guid,
      part,
      code: tapbackCode(tapback, action),
      text: tapbackText(tapback, action, target.text, 'en'),
      ...(tapback.kind === 'emoji' && { emoji: tapback.emoji }),
      ...(tapback.kind === 'sticker' && { attachments: [stickerOf(tapback)] }),
    });
    return { state: 'pressed' };
  }

  audioDuration(attachment: StoredAttachment): number | undefined {
    return this.#app.store.durationOf(attachment.guid);
  }

  watch(listener: () => void): () => void {
    return this.#app.watch(listener);
  }

  view(): SimulationView {
    const generation = this.store.generation();
    const chats = new StoredConversations(this.#app).view();
    return {
      macos: this.#macos,
      permissions: { ...this.#permissions },
      chats: chats.map((chat) => ({ ...chat, id: chatIdOf(generation, chat.id) })),
    };
  }

  change(change: SimulationChange): void {
    if (change.macos !== undefined) {
      this.#macos = change.macos;
      this.#app.store.installMacos(majorOf(change.macos));
    }
    this.#permissions = { ...this.#permissions, ...change.permissions };
    if (change.delayMs !== undefined) this.#setDelay(change.delayMs);
    if (change.faults !== undefined) this.#faults = change.faults.filter((fault) => fault.times > 0);
  }

  close(): void {
    this.#app.close();
    this.store.close();
  }

  #setDelay(ms: number): void {
    this.#delayMs = ms;
    this.#delayChanged.abort();
    this.#delayChanged = new AbortController();
  }

  /** A changed delay also applies to a job that is already waiting. */
  async #waitDelay(): Promise<void> {
    const since = this.#clock.monotonic();
    let left = this.#delayMs;
    do {
      await this.#clock.sleep(left, this.#delayChanged.signal);
      left = since + this.#delayMs - this.#clock.monotonic();
    } while (left > 0);
  }

  #find(destination: Destination): number | Failed {
    if (destination.to === 'chat') {
      const rowid = chatRowOf(this.store.generation(), destination.chatId);
      const isKnown = rowid !== undefined && this.#app.store.chatRow(rowid) !== undefined;
      return isKnown ? rowid : failed('IMESSAGE_ERROR', 'error -1728: no such chat');
    }
    if (destination.to === 'person')
      return this.#app.store.directChat(destination.handle, destination.service);
    const { recipients, service } = destination;
    if (service === 'iMessage' && recipients.some((handle) => !this.#app.store.hasIMessage(handle)))
      return failed('IMESSAGE_GROUP_INVALID_RECIPIENTS', 'a recipient is not on iMessage');
    const group = this.store.groupOf(recipients, service);
    if (group === 'ambiguous')
      return failed('IMESSAGE_GROUP_INVALID_RECIPIENTS', 'several groups have exactly these recipients');
    const members = [...new Set(recipients)];
    return group === undefined
      ? this.#app.store.chat({ members, service, twin: true })
      : (chatRowOf(this.store.generation(), group.id) ??
          failed('IMESSAGE_ERROR', 'error -1728: no such chat'));
  }

  #isActive({ targetGuid, part, tapback }: TapbackPress): boolean {
    const present = this.store.ownReaction(targetGuid, part);
    if (present === undefined || present.kind !== tapback.kind) return false;
    if (present.kind === 'classic' && tapback.kind === 'classic') return present.type === tapback.type;
    if (present.kind === 'emoji' && tapback.kind === 'emoji') return present.emoji === tapback.emoji;
    return false;
  }

  #takeFault(job: JobKind): FaultCode | undefined {
    const fault = this.#faults.find((candidate) => candidate.job === job);
    if (fault === undefined) return undefined;
    this.#faults = this.#faults
      .map((candidate) => (candidate === fault ? { ...fault, times: fault.times - 1 } : candidate))
      .filter((candidate) => candidate.times > 0);
    return fault.code;
  }
}

const majorOf = (macos: string) => Number.parseInt(macos, 10);
const granted = (isGranted: boolean) => (isGranted ? 'granted' : 'denied');

function jobOf(message: OutgoingMessage): JobKind {
  if (message.kind === 'text') return message.effect === undefined ? 'text' : 'animation';
  return message.kind === 'file' ? 'attachment' : message.kind;
}

function contentOf(message: OutgoingMessage): Pick<NewMessage, 'text' | 'columns' | 'attachments'> {
  if (message.kind === 'sticker') return { attachments: [stickerOf(message)] };
  if (message.kind === 'file') return { attachments: [fileOf(message.file)] };
  if (message.kind === 'voice') {
    const { durationMs } = message;
    const file = { ...fileOf(message.file), ...(durationMs !== undefined && { durationMs }) };
    return { columns: { is_audio_message: 1 }, attachments: [file] };
  }
  const { text, effect, replyTo } = message;
  return {
    text,
    columns: {
      expressive_send_style_id: effect ?? null,
      thread_originator_guid: replyTo ?? null,
      thread_originator_part: replyTo === undefined ? null : `0:0:${text.length}`,
    },
  };
}

function stickerOf({ file, description }: { file: LocalFile; description?: string }): NewAttachment {
  return {
    ...fileOf(file),
    columns: { is_sticker: 1, emoji_image_short_description: description ?? null },
  };
}

function fileOf(file: LocalFile): NewAttachment {
  return { name: file.name, mime: file.mime, bytes: readFileSync(file.path) };
}

function injected(code: StatusCode): Failed {
  return failed(code, codeEntry(code, 'status')?.meaning ?? code);
}
