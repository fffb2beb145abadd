import { readFileSync } from 'node:fs';

import { codeEntry } from '@footbridge/protocol/codes';
import type { StatusCode } from '@footbridge/protocol/codes';
import type { Clock } from '@footbridge/runtime/clock';

import type {
  Destination,
  Environment,
  ExpectedMessage,
  LocalFile,
  Messages,
  MessageStore,
  OutgoingMessage,
  Permission,
  PermissionState,
  PressResult,
  RowGuard,
  StoredAttachment,
  TapbackPress,
} from './messages.ts';
import { findOutcome, NOT_ON_IMESSAGE } from './find-outcome.ts';
import { capabilitiesSince } from './feature-versions.ts';
import { SimulatedPeople } from './simulated-people.ts';
import { SimulatedStore } from './simulated-store.ts';
import type { StoreMemory } from './store-generation.ts';
import type { NewAttachment } from './simulated-store.ts';
import { viewChats } from './simulated-view.ts';
import { OUTCOME_UNKNOWN } from './simulation.ts';
import type {
  Fault,
  FaultCode,
  JobKind,
  Simulation,
  SimulationChange,
  SimulationView,
} from './simulation.ts';
import { tapbackText } from './tapback-texts.ts';
import { failed } from '../../outcome.ts';
import type { Failed, Outcome } from '../../outcome.ts';

export interface SimulationOptions {
  /** The simulation persists in this folder. */
  readonly dir: string;
  readonly macos: string;
  readonly ownHandle: string;
  readonly memory: StoreMemory;
  readonly guard?: RowGuard | undefined;
  readonly clock: Clock;
}

/** Error numbers in the rows of Messages. */
const SEND_FAILED = 4;

/** Faults that show only in the store: the press succeeds, and no reaction appears. */
const PRESSED_WITHOUT_EFFECT: ReadonlySet<string> = new Set(['EMOJI_NOT_IN_RECENTS', 'STICKER_NOT_FEASIBLE']);

/**
 * A simulated Messages: a store with the schema of the real one, people on the other side, and faults on request.
 * Chats and messages persist; permissions, delay and faults do not.
 */
export class SimulatedMessages implements Messages, Simulation {
  readonly people: SimulatedPeople;
  readonly #store: SimulatedStore;
  readonly #clock: Clock;
  readonly #listeners = new Set<() => void>();
  #faults: Fault[] = [];
  #permissions = { accessibility: true, automation: true };
  #delayMs = 0;
  #delayChanged = new AbortController();

  constructor(options: SimulationOptions) {
    this.#clock = options.clock;
    this.#store = new SimulatedStore(options, () => options.clock.now());
    this.people = new SimulatedPeople(this.#store, options.clock, () => this.#changed());
  }

  get store(): MessageStore {
    return this.#store.chats;
  }

  environment(): Environment {
    const { accessibility, automation } = this.#permissions;
    return {
      macos: this.#store.macos,
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
    return capabilitiesSince(this.#store.macos);
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
    const chatId = this.#find(destination);
    if (typeof chatId !== 'number') return chatId;
    const chat = this.#store.chats.chat(chatId);
    const service = chat?.service ?? 'iMessage';
    const guid = this.#store.insert({
      chatId,
      from: 'me',
      service,
      text: message.kind === 'text' ? message.text : '',
      finished: false,
      voice: message.kind === 'voice',
      ...(message.kind === 'text'
        ? { effect: message.effect, replyTo: message.replyTo }
        : { attachments: [outgoing(message)] }),
    });
    this.#changed();
    if (fault === OUTCOME_UNKNOWN) {
      return { state: 'unknown', code: 'TIMEOUT', message: 'Messages stopped responding during the send' };
    }
    const unreachable =
      service === 'iMessage' && (chat?.recipients ?? []).some((handle) => !this.#store.hasIMessage(handle));
    if (fault === 'IMESSAGE_ERROR' || unreachable) {
      const error = unreachable ? NOT_ON_IMESSAGE : SEND_FAILED;
      this.#store.finish(guid, { sent: false, delivered: false, error });
      this.#changed();
      return error === NOT_ON_IMESSAGE
        ? { ...failed('IMESSAGE_ERROR', 'error 22: the recipient is not on iMessage'), notOnIMessage: true }
        : failed('IMESSAGE_ERROR', 'error 4: the send failed');
    }
    // Only direct iMessage chats have delivery receipts.
    this.#store.finish(guid, {
      sent: true,
      delivered: service === 'iMessage' && chat?.isGroup === false,
      error: 0,
    });
    this.#changed();
    return { state: 'delivered', guid };
  }

  async react(press: TapbackPress): Promise<PressResult> {
    const fault = this.#takeFault('reaction');
    await this.#waitDelay();
    if (fault !== undefined) {
      if (PRESSED_WITHOUT_EFFECT.has(fault)) return { state: 'pressed' };
      return injected(fault === OUTCOME_UNKNOWN ? 'TIMEOUT' : fault);
    }
    const target = this.#store.chats.rowByGuid(press.targetGuid);
    if (target?.chatId !== press.chatId) return failed('TARGET_NOT_FOUND', 'the message is not on screen');
    const { tapback } = press;
    const action = this.#isActive(press) ? 'remove' : 'add';
    const text = tapbackText(tapback, action, target.text, 'en');
    const sticker =
      tapback.kind === 'sticker'
        ? { ...fileOf(tapback.file), sticker: true, description: tapback.description }
        : undefined;
    const { part = 0 } = press;
    this.#store.tapback(
      press.chatId,
      'me',
      target.guid,
      { ...tapback, part },
      action,
      text,
      target.service,
      sticker,
    );
    this.#changed();
    return { state: 'pressed' };
  }

  audioDuration(attachment: StoredAttachment): number | undefined {
    return this.#store.durationOf(attachment.guid);
  }

  watch(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  view(): SimulationView {
    return {
      macos: this.#store.macos,
      permissions: { ...this.#permissions },
      chats: viewChats(this.#store),
    };
  }

  change(change: SimulationChange): void {
    if (change.macos !== undefined) this.#store.update(change.macos);
    this.#permissions = { ...this.#permissions, ...change.permissions };
    if (change.delayMs !== undefined) this.#setDelay(change.delayMs);
    if (change.faults !== undefined) this.#faults = change.faults.filter((fault) => fault.times > 0);
  }

  close(): void {
    this.people.close();
    this.#listeners.clear();
    this.#store.close();
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
      return (
        this.#store.chats.chat(destination.chatId)?.id ??
        failed('IMESSAGE_ERROR', 'error -1728: no such chat')
      );
    }
    if (destination.to === 'person') return this.#store.directChat(destination.handle, destination.service);
    const { recipients, service } = destination;
    if (service === 'iMessage' && recipients.some((handle) => !this.#store.hasIMessage(handle))) {
      return failed('IMESSAGE_GROUP_INVALID_RECIPIENTS', 'a recipient is not on iMessage');
    }
    const group = this.#store.chats.groupOf(recipients, service);
    if (group === 'ambiguous') {
      return failed('IMESSAGE_GROUP_INVALID_RECIPIENTS', 'several groups have exactly these recipients');
    }
    return group?.id ?? this.#store.group(recipients, service);
  }

  #isActive({ targetGuid, part, tapback }: TapbackPress): boolean {
    const present = this.#store.chats.ownReaction(targetGuid, part);
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

  #changed(): void {
    for (const listener of this.#listeners) listener();
  }
}

const granted = (isGranted: boolean) => (isGranted ? 'granted' : 'denied');

function jobOf(message: OutgoingMessage): JobKind {
  if (message.kind === 'text') return message.effect === undefined ? 'text' : 'animation';
  return message.kind === 'file' ? 'attachment' : message.kind;
}

function outgoing(message: Exclude<OutgoingMessage, { kind: 'text' }>): NewAttachment {
  const file = fileOf(message.file);
  if (message.kind === 'sticker') return { ...file, sticker: true, description: message.description };
  return message.kind === 'voice' ? { ...file, durationMs: message.durationMs } : file;
}

function fileOf(file: LocalFile): NewAttachment {
  return { name: file.name, mime: file.mime, bytes: readFileSync(file.path) };
}

function injected(code: StatusCode): Failed {
  return failed(code, codeEntry(code, 'status')?.meaning ?? code);
}
