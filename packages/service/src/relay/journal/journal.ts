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
  | 'status_sent'
  | 'crm_refused'
  | 'no_token'
  | 'mac_reported'
  | 'received'
  | 'contact_found'
  | 'looked_up'
  | 'crm_accepted'
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
  /**
   * The outbound message of the request. With it, the entry is written even if the node that opened the entry was killed before writing it.
   */
  readonly message?: Pick<JournalEntry, 'locationId' | 'messageId'>;
  /** Whether the message may have earlier requests. An accepted `delivered` is then indexed, so that `lastStatus` finds it among all of them. */
  readonly isRepeat?: boolean;
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

export interface PersonQuery {
  /** The complete phone number or email address, in every form in which it may be recorded. */
  readonly handles: readonly string[];
  /** Undefined: all locations. */
  readonly locationIds?: readonly string[] | undefined;
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
