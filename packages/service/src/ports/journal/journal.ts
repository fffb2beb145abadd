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

/**
 * The reading side, for the operator. Sees what has been written, including what is still on its way to the disk on this node.
 * Rejects with EngineError when the store is away.
 */
export interface JournalReader {
  list(query: MessageQuery): Promise<{ messages: MessageSummary[]; cursor: string | null }>;
  /** By requestId, by our inbound id, or by the CRM's messageId (newest first). */
  show(id: string): Promise<MessageTrail | undefined>;
  /** Which location a request was for; undefined when it is not known. */
  locationOf(requestId: string): Promise<string | undefined>;
  /** The entry of an inbound message that was here before. */
  inboundId(locationId: string, guid: string): Promise<string | undefined>;
  /** What the CRM was told of a request so far, as far as that is known. */
  told(requestId: string): Promise<Told | undefined>;
}

export interface Told {
  readonly locationId: string;
  readonly messageId: string | null;
  /** `pending`, `delivered`, `failed`, in order. */
  readonly statuses: readonly string[];
}

/** One step of one message as it happened. `id` is for resuming; `message` is there as long as it is in memory. */
export interface JournalEvent {
  readonly id: string;
  readonly at: number;
  readonly messageId: string;
  readonly step: StepName;
  readonly recorded: Recorded;
  readonly message: JournalEntry | undefined;
}

/** What happens on this node, live. The last thousand events are kept so that a listener who was cut off misses none. */
export interface JournalFeed {
  /** What came after the event `lastId`; `gap` when that is no longer known. Without `lastId` nothing is old enough to be told. */
  since(lastId: string | undefined): { events: JournalEvent[]; gap: boolean };
  /** Called for every event until the returned function is; must not throw. */
  listen(listener: (event: JournalEvent) => void): () => void;
}
