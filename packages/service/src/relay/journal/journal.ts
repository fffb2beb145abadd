/**
 * The state of a message as the service knows it. Outbound: accepted → written → pending → delivered | failed, or rejected.
 * Inbound: received → delivered | rejected | undeliverable.
 */
export type MessageState =
  | 'accepted'
  | 'written'
  | 'pending'
  | 'delivered'
  | 'failed'
  | 'rejected'
  | 'received'
  | 'undeliverable';

/**
 * The states of an outbound message before the last one, in order. A node also rejects a message when it does not know whether another one
 * has written it. The states of an inbound message have no order: it can be tried again.
 */
export const EARLY_STATES: readonly MessageState[] = ['accepted', 'rejected', 'written', 'pending'];

/** A state never replaces one of a higher rank. */
export function rankOf(state: MessageState | undefined): number {
  if (state === undefined) return 0;
  return EARLY_STATES.includes(state) ? EARLY_STATES.indexOf(state) + 1 : EARLY_STATES.length + 1;
}

export interface JournalEntry {
  /** The requestId, or a generated id for an inbound message. */
  readonly id: string;
  readonly direction: 'outbound' | 'inbound';
  readonly locationId: string;
  /** The CRM's id of an outbound message, or the guid of an inbound one. */
  readonly messageId: string | null;
  /** text, attachment, group, reaction, sticker, voice, animation, reply. */
  readonly kind: string;
  readonly phoneMasked: string | null;
  readonly length: number;
}

/** A new entry. The journal stores neither the phone number nor the address, only a masked form and a keyed hash. */
export interface NewEntry extends Omit<JournalEntry, 'phoneMasked'> {
  /** The phone number or email address of the customer. */
  readonly handle: string | null;
  readonly contactId: string | null;
}

export type StepName =
  | 'accepted'
  | 'rejected'
  | 'written'
  | 'not_confirmed'
  | 'not_connected'
  | 'crm_told'
  | 'crm_refused'
  | 'no_token'
  | 'mac_says'
  | 'received'
  | 'contact_found'
  | 'looked_up'
  | 'crm_took_it'
  | 'acknowledged'
  | 'uncertain'
  | 'parked';

/** Codes, numbers and ids, never a text, a phone number or a token. */
export type StepDetail = Readonly<Record<string, string | number | boolean | null>>;

export interface Recorded {
  readonly state?: MessageState;
  readonly code?: string;
  readonly detail?: StepDetail;
  /** The contact of an inbound message, once it is known. Stored together with a new state. */
  readonly contactId?: string;
  /** The outbound message of the request: with it, the entry is written also when the node that opened it was killed before it did. */
  readonly message?: Pick<JournalEntry, 'locationId' | 'messageId'>;
  /** Whether the message may have earlier requests. An accepted `delivered` is then indexed, so that `lastStatus` finds it among all of them. */
  readonly isRepeat?: boolean;
}

/**
 * The writing side of the journal. Both methods return immediately and never throw. Rows are written in the background, in batches.
 * While the database is unavailable they are kept in memory; beyond a cap the oldest unwritten messages are dropped.
 */
export interface Journal {
  open(entry: NewEntry, step: StepName, recorded?: Recorded): void;
  step(id: string, step: StepName, recorded?: Recorded): void;
}

export interface MessageSummary extends JournalEntry {
  /** The Mac's own GUID of the message; null until the Mac reports it. */
  readonly messageGuid: string | null;
  readonly state: MessageState;
  readonly code: string | null;
  readonly createdAt: number;
  readonly updatedAt: number;
}

export interface MessageTrail extends MessageSummary {
  readonly steps: readonly { at: number; step: StepName; detail: StepDetail | null }[];
}

export interface MessageQuery {
  /** Undefined: all locations. */
  readonly locationIds?: readonly string[] | undefined;
  readonly state?: string | undefined;
  readonly direction?: 'outbound' | 'inbound' | undefined;
  readonly kind?: string | undefined;
  readonly code?: string | undefined;
  /** Phone numbers or email addresses, in full: messages of any of them are found. */
  readonly handles?: readonly string[] | undefined;
  readonly contactId?: string | undefined;
  readonly from?: number | undefined;
  readonly until?: number | undefined;
  readonly cursor?: string | undefined;
  readonly limit: number;
}

export interface CountQuery {
  /** Undefined: all locations. */
  readonly locationIds?: readonly string[] | undefined;
  readonly from: number;
  readonly until: number;
  readonly bucketMs: number;
}

export interface MessageCount extends Pick<MessageSummary, 'direction' | 'state' | 'code'> {
  /** The start of the bucket. */
  readonly from: number;
  readonly count: number;
}

export interface MessageKey extends Pick<MessageSummary, 'direction' | 'locationId'> {
  /** The CRM's messageId of an outbound message, or the GUID of an inbound one. */
  readonly messageId: string;
}

/** An outbound message that was written to a Mac. */
export interface RecentSend extends Pick<MessageSummary, 'state' | 'code' | 'createdAt' | 'updatedAt'> {
  /** The same for all messages to one person. */
  readonly person: string | null;
}

/**
 * The reading side of the journal. Reads include the steps that this node has recorded but not written yet. Every method rejects
 * with EngineError when the database is unavailable.
 */
export interface JournalReader {
  list(query: MessageQuery): Promise<{ messages: MessageSummary[]; cursor: string | null }>;
  /**
   * Finds an entry by its id; otherwise the newest one with this messageId of the CRM, or else with this GUID of an inbound message.
   * Without `locationIds`, searches all locations.
   */
  show(id: string, locationIds?: readonly string[]): Promise<MessageTrail | undefined>;
  /** Resolves with the entries of a message, at most the newest hundred, oldest first. */
  requestsOf(message: MessageKey): Promise<MessageTrail[]>;
  /** Resolves with the location of a request. */
  locationOf(requestId: string): Promise<string | undefined>;
  /** Resolves with the time of the newest webhook of each of these locations that has one. */
  lastWebhooks(locationIds: readonly string[]): Promise<ReadonlyMap<string, number>>;
  /** Resolves with the number of messages of a span of time, by bucket, direction, state and code. */
  counts(query: CountQuery): Promise<MessageCount[]>;
  /** Resolves with the newest messages and their steps, newest first. */
  newest(query: Pick<MessageQuery, 'locationIds' | 'limit'>): Promise<MessageTrail[]>;
  /** Resolves with a time of each hour since `from` in which the location received a message, and the time of its newest one. */
  inboundHours(locationId: string, from: number): Promise<number[]>;
  /** Resolves with the time of the newest inbound message of each location that received one since then. */
  lastInbound(since: number): Promise<ReadonlyMap<string, number>>;
  /**
   * Resolves with the newest sends, newest first, of each location that was asked since `from` to send a message that failed on the Mac or has no
   * result. A few per location.
   */
  troubledSends(from: number): Promise<ReadonlyMap<string, readonly RecentSend[]>>;
  /** Resolves with the number of messages in this period that were written to a Mac and have no result. */
  unfinishedSends(from: number, until: number): Promise<number>;
  /** Resolves with the code of an entry: null if it has none, undefined if there is no such entry. */
  codeOf(id: string): Promise<string | null | undefined>;
  /** Resolves with the statuses of a request that were sent to the CRM. */
  sentStatuses(requestId: string): Promise<SentStatuses | undefined>;
  /**
   * Resolves with the last status of a message that the CRM accepted, over all its requests but `requestId`; `delivered` is always the last.
   * Undefined when there is no other request. If there are many, only the oldest, the newest and those with an indexed `delivered` are read;
   * the others count as `uncertain`. Calls within a few milliseconds share one query. Unlike the other reads this one leaves out what this
   * node has not written yet, so that it never waits for a write.
   */
  lastStatus(locationId: string, messageId: string, requestId: string): Promise<LastStatus | undefined>;
  /**
   * Resolves with whether one of the newest requests for an outbound message before that time was delivered. Leaves out what this node has not
   * written yet.
   */
  wasDelivered(message: Omit<MessageKey, 'direction'>, before: number): Promise<boolean>;
}

export interface PersonQuery {
  /** The complete phone number or email address, in every form in which it may be recorded. */
  readonly handles: readonly string[];
  /** Undefined: all locations. */
  readonly locationIds?: readonly string[] | undefined;
}

/**
 * The messages to and from one person: those with the phone number or address, and requests without one for a contact that also has some
 * with it. Both methods reject with EngineError when the database is unavailable.
 */
export interface PersonJournal {
  /** Resolves with a page of messages and their steps, newest first. */
  ofPerson(
    query: PersonQuery & { readonly cursor?: string | undefined; readonly limit: number },
  ): Promise<{ messages: MessageTrail[]; cursor: string | null }>;
  /** Deletes the messages. Resolves with their number. What another node has not written yet is not deleted. */
  erase(query: PersonQuery): Promise<number>;
}

/**
 * What happened last when the CRM has accepted no status since. `written`: a frame was written to the Mac. `uncertain`: a frame may have been
 * written to a Mac whose node did not respond. `repeated`: there was another request, which was rejected or whose outcome was not recorded.
 */
export type LastStatus = SentStatus | 'written' | 'uncertain' | 'repeated';

export type SentStatus = 'pending' | 'delivered' | 'failed';

export interface SentStatuses {
  readonly locationId: string;
  readonly messageId: string | null;
  /** In the order in which the CRM accepted them. */
  readonly statuses: readonly SentStatus[];
}

/** One recorded step of a message. `id` is the cursor for `since`; `message` is undefined once it has left memory. */
export interface JournalEvent {
  readonly id: string;
  readonly at: number;
  readonly messageId: string;
  readonly step: StepName;
  readonly recorded: Recorded;
  readonly message: JournalEntry | undefined;
}

/** The live events of this node. The last 1,000 are kept. */
export interface JournalFeed {
  /** Returns the events after `lastId`. `gap` is true when some of them are no longer kept. Without `lastId` there are none. */
  since(lastId: string | undefined): { events: JournalEvent[]; gap: boolean };
  /** Calls the listener for every event until the returned function is called. The listener must not throw. */
  listen(listener: (event: JournalEvent) => void): () => void;
}
