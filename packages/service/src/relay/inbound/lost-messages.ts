import type { Clock } from '@footbridge/runtime/clock';
import { SerialByKey } from '@footbridge/runtime/serial-by-key';

import { succeeded } from '../../platform/retry/retry.ts';
import type { Attempt, FailedAttempt, SendGuard } from '../../platform/retry/retry.ts';
import type { Guids } from './guids-sql.ts';
import type { ConversationCalls, StoredMessage } from './conversation-calls.ts';
import type { ContactCalls } from '../crm/contact-calls.ts';
import type { InboundJob } from './inbound-job.ts';
import { readPolicy } from './inbound-job.ts';
import { readAfterLoss } from './read-after-loss.ts';
import { isBefore, isBeforeClaim, isMatch } from './match-message.ts';
import type { LostMessage } from './match-message.ts';
import type { ReadDelays } from './read-after-loss.ts';

/** What the CRM's conversation says about a lost message. */
export type LookUpResult =
  /** The CRM has it, and it is recorded as sent. */
  | { readonly kind: 'found'; readonly crmMessageId: string }
  /** The CRM does not have it. */
  | { readonly kind: 'absent' }
  | Unknown;

/** The conversation cannot be read, as far back as needed. `scope`: what the token lacks. */
interface Unknown {
  readonly kind: 'unknown';
  readonly reason: string;
  readonly scope?: string;
}

export interface LostMessagesDeps extends ReadDelays {
  readonly conversations: ConversationCalls;
  readonly contacts: Pick<ContactCalls, 'find' | 'findAll'>;
  readonly guids: Pick<Guids, 'recordedForOthers' | 'sent'>;
  readonly clock: Clock;
}

interface Reading {
  readonly kind: 'read';
  /** Messages that look like the lost one, the newest first. */
  readonly candidates: readonly string[];
  /** False: older messages were not read. */
  readonly isComplete: boolean;
}

type Call = <T>(attempt: (guard: SendGuard) => Promise<Attempt<T>>) => Promise<Attempt<T>>;

const ABSENT = succeeded<LookUpResult>({ kind: 'absent' });
const MAX_MESSAGES = 100;
const MAX_CONTACTS = 10;
const MAX_CONVERSATIONS = 10;
/** An outage may end within this time; after it INBOUND_ON_UNCERTAIN decides. */
const READ_WITHIN_MS = 15 * 60_000;

/** Looks for messages in the CRM whose response was lost (I9). */
export class LostMessages {
  readonly #deps: LostMessagesDeps;
  /** Two lost messages that look alike are never matched to the same message. */
  readonly #takers = new SerialByKey<InboundJob, Attempt<string | undefined>>();

  constructor(deps: LostMessagesDeps) {
    this.#deps = deps;
  }

  /**
   * Waits for `waitMs` at least. The only failure is a cancellation. `othersRecorded` resolves once no other pending message can match the
   * candidate.
   */
  async find(
    lost: LostMessage,
    job: InboundJob,
    waitMs: number,
    othersRecorded: () => Promise<unknown>,
  ): Promise<Attempt<LookUpResult>> {
    let deadline: number | undefined;
    const read = async (): Promise<Attempt<LookUpResult>> => {
      deadline ??= this.#deps.clock.monotonic() + READ_WITHIN_MS;
      const reading = await this.#read(lost, job, deadline);
      if (!reading.ok) return reading;
      if (reading.value.kind === 'unknown') return succeeded(reading.value);
      const { candidates, isComplete } = reading.value;
      if (candidates.length > 0) await othersRecorded();
      const taken = await this.#takers.add(lost.locationId, job, () => this.#take(lost, job, candidates));
      if (!taken.ok) return taken;
      if (taken.value !== undefined) return succeeded({ kind: 'found', crmMessageId: taken.value });
      if (isComplete) return ABSENT;
      return succeeded({ kind: 'unknown', reason: `the newest ${MAX_MESSAGES} messages do not reach back` });
    };
    return readAfterLoss(job, this.#deps, waitMs, read, ({ kind }) => kind === 'absent');
  }

  async #read(lost: LostMessage, job: InboundJob, deadline: number): Promise<Attempt<Reading | Unknown>> {
    const { clock } = this.#deps;
    const call: Call = async (attempt) => {
      const read = await job.retry(attempt, readPolicy(deadline - clock.monotonic()));
      job.workOn();
      return read;
    };
    const contactIds = await this.#contactsOf(lost, call);
    if (!contactIds.ok) return unreadable(contactIds, 'contacts.readonly');
    return readAll(contactIds.value, MAX_CONTACTS, (contactId) => this.#readContact(lost, contactId, call));
  }

  /** A contact may have several conversations, and the CRM alone decides to which one it adds a message. */
  async #readContact(lost: LostMessage, contactId: string, call: Call): Promise<Attempt<Reading | Unknown>> {
    const found = await call((guard) => this.#deps.conversations.find(lost.locationId, contactId, guard));
    if (!found.ok) return unreadable(found, 'conversations.readonly');
    return readAll(found.value, MAX_CONVERSATIONS, (id) => this.#readConversation(lost, id, call));
  }

  /** After a crash it is not known which of several contacts with this handle was chosen. */
  async #contactsOf(
    { locationId, sender, contactId }: LostMessage,
    call: Call,
  ): Promise<Attempt<readonly string[]>> {
    const { contacts } = this.#deps;
    if (contactId !== undefined) return succeeded([contactId]);
    const found = await call((guard) => contacts.find(locationId, sender, guard));
    if (!found.ok) return found;
    if (found.value === undefined) return succeeded([]);
    const all = await call((guard) => contacts.findAll(locationId, sender, guard));
    if (!all.ok) return all.kind === 'refused' ? succeeded([found.value]) : all;
    return succeeded([...new Set([found.value, ...all.value])]);
  }

  async #readConversation(
    lost: LostMessage,
    conversationId: string,
    call: Call,
  ): Promise<Attempt<Reading | Unknown>> {
    const { conversations } = this.#deps;
    const { locationId } = lost;
    const candidates: string[] = [];
    let [isComplete, reachesClaim] = [false, false];
    let before: string | undefined;
    let count = 0;
    do {
      const last = before;
      const page = await call((guard) => conversations.messages(locationId, conversationId, last, guard));
      if (!page.ok) return unreadable(page, 'conversations/message.readonly');
      const { messages, hasMore } = page.value;
      for (const message of messages) if (isMatch(lost, message)) candidates.push(message.id);
      count += messages.length;
      before = messages.at(-1)?.id;
      isComplete = !hasMore || reachesBack(messages, (oldest) => isBefore(lost, oldest));
      reachesClaim = reachesBack(messages, (oldest) => isBeforeClaim(lost, oldest));
    } while (!isComplete && before !== undefined && count < MAX_MESSAGES);
    // In a busy conversation the newest messages span less time than a clock may have been set by.
    return succeeded({ kind: 'read', candidates, isComplete: isComplete || reachesClaim });
  }

  /** Records the oldest candidate that no other message has taken. */
  async #take(
    key: LostMessage,
    job: InboundJob,
    candidates: readonly string[],
  ): Promise<Attempt<string | undefined>> {
    const { guids } = this.#deps;
    const taken = await job.store(() => guids.recordedForOthers(key, candidates));
    if (!taken.ok) return taken;
    const crmMessageId = candidates.findLast((id) => !taken.value.has(id));
    if (crmMessageId === undefined) return succeeded(undefined);
    const marked = await job.store(() => guids.sent(key, crmMessageId));
    return marked.ok ? succeeded(crmMessageId) : marked;
  }
}

/** Reads at most `max` conversations, one after the other. */
async function readAll(
  ids: readonly string[],
  max: number,
  read: (id: string) => Promise<Attempt<Reading | Unknown>>,
): Promise<Attempt<Reading | Unknown>> {
  const candidates: string[] = [];
  let isComplete = ids.length <= max;
  for (const id of ids.slice(0, max)) {
    const reading = await read(id);
    if (!reading.ok || reading.value.kind === 'unknown') return reading;
    candidates.push(...reading.value.candidates);
    isComplete &&= reading.value.isComplete;
  }
  return succeeded({ kind: 'read', candidates, isComplete });
}

/** The newest message is the first one; a page in another order says nothing about the ones after it. */
function reachesBack(
  messages: readonly StoredMessage[],
  isFarEnough: (oldest: StoredMessage) => boolean,
): boolean {
  const [first, last] = [messages[0], messages.at(-1)];
  return first !== undefined && last !== undefined && first.addedAt >= last.addedAt && isFarEnough(last);
}

/** Without the scope that the call needs the CRM responds with 401 or 403. */
function unreadable(failure: FailedAttempt, scope: string): Attempt<Unknown> {
  if (failure.kind === 'cancelled') return failure;
  const { status, reason } = failure;
  const what = `the conversation cannot be read: ${status} ${reason}`;
  if (status !== 401 && status !== 403) return succeeded({ kind: 'unknown', reason: what });
  const advice = `grant the scope ${scope} and install the app again`;
  return succeeded({ kind: 'unknown', reason: `${what}; ${advice}`, scope });
}
