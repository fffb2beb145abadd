/** What became of a message, as far as the service knows. Outbound: accepted → written → delivered | failed, or rejected. Inbound: received → delivered | rejected | undeliverable. */
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
  /** requestId, or for inbound messages an id of ours. */
  readonly id: string;
  readonly direction: 'outbound' | 'inbound';
  readonly locationId: string;
  /** The CRM's id of an outbound message, the guid of an inbound one. */
  readonly messageId: string | null;
  /** text, attachment, group, reaction, sticker, voice, animation, reply. */
  readonly kind: string;
  readonly phoneMasked: string | null;
  readonly length: number;
}

export type StepName =
  | 'accepted'
  | 'rejected'
  | 'written'
  | 'not_connected'
  | 'crm_told'
  | 'crm_refused'
  | 'mac_says'
  | 'received'
  | 'contact_found'
  | 'crm_took_it'
  | 'acknowledged'
  | 'uncertain'
  | 'parked';

/** Codes, numbers and ids; never text, phone or token. */
export type StepDetail = Readonly<Record<string, string | number | boolean | null>>;

export interface Recorded {
  readonly state?: MessageState;
  readonly code?: string;
  readonly detail?: StepDetail;
}

/** The writing side: two calls, both return at once and never throw; rows are written behind, in batches, and the oldest unwritten go first when the store is away too long. */
export interface Journal {
  open(entry: JournalEntry, step: StepName, recorded?: Recorded): void;
  step(id: string, step: StepName, recorded?: Recorded): void;
}

export interface MessageSummary extends JournalEntry {
  readonly state: MessageState;
  readonly code: string | null;
  readonly createdAt: number;
  readonly updatedAt: number;
}

export interface MessageTrail extends MessageSummary {
  readonly steps: readonly { at: number; step: StepName; detail: StepDetail | null }[];
}

export interface MessageQuery {
  readonly locationId?: string;
  readonly state?: string;
  readonly direction?: 'outbound' | 'inbound';
  readonly cursor?: string;
  readonly limit: number;
}

/** The reading side, for the operator. Sees what has been written, including what is still on its way to the disk on this node. */
export interface JournalReader {
  list(query: MessageQuery): Promise<{ messages: MessageSummary[]; cursor: string | null }>;
  /** By requestId, by our inbound id, or by the CRM's messageId (newest first). */
  show(id: string): Promise<MessageTrail | undefined>;
  /** Which location a request was for; undefined when it is not known. */
  locationOf(requestId: string): Promise<string | undefined>;
}
