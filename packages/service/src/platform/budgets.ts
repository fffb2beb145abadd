/** What one kind of request may occupy. Requests beyond it are rejected; no kind uses the budget of another (T52). */
export interface Budget {
  /** For docs/security.md, which is made from this table. */
  readonly about: string;
  /** Requests at the same time, in total and for one holder of each kind. */
  readonly slots: SlotLimits;
  /** Bytes of memory that these requests hold together, except for a few kilobytes each. */
  readonly memoryBytes: number;
  /** A client that moves fewer than `bytes` in `ms`, while the service waits for it, is disconnected. */
  readonly stall: { readonly bytes: number; readonly ms: number };
  /** A client that has not sent its request or read its response after this time is disconnected. */
  readonly maxMs: number;
  /**
   * When the slots are taken, the oldest request that waits for its client is dropped for a new one: withholding the end of a body, or not
   * reading a response, costs nothing.
   */
  readonly dropsIncomplete: boolean;
}

export interface SlotLimits {
  readonly total: number;
  readonly perAddress?: number;
  readonly perLicense?: number;
  readonly perDevice?: number;
  /** Per operator token, including its browser sessions. */
  readonly perOperator?: number;
}

/** Open connections of a listener, besides the sockets of Macs. When all are taken, the one that has been idle the longest is closed for a new one. */
export const HTTP_CONNECTIONS = 10_000;

const MIB = 1_048_576;

export const BUDGETS = {
  webhooks: {
    about: 'Webhooks: `/crm/…`',
    slots: { total: 1000 },
    memoryBytes: 24 * MIB,
    stall: { bytes: 1, ms: 10_000 },
    maxMs: 12_000,
    dropsIncomplete: true,
  },
  uploads: {
    about: 'Files from Macs: `POST /mac/assets`',
    slots: { total: 256, perAddress: 128, perLicense: 64, perDevice: 8 },
    memoryBytes: 128 * MIB,
    stall: { bytes: 16_384, ms: 10_000 },
    maxMs: 600_000,
    dropsIncomplete: false,
  },
  downloads: {
    about: 'Attachments: `/assets/…`',
    slots: { total: 256, perAddress: 64 },
    memoryBytes: 64 * MIB,
    // A browser that pauses a video reads in large steps, and continues with a range after a disconnect.
    stall: { bytes: 1, ms: 30_000 },
    maxMs: 900_000,
    dropsIncomplete: false,
  },
  enrolment: {
    // An office of 50 Macs behind one address can activate all of them at once.
    about: 'Activation of Macs: `/mac/…`',
    slots: { total: 256, perAddress: 64 },
    memoryBytes: 4 * MIB,
    stall: { bytes: 1, ms: 10_000 },
    maxMs: 12_000,
    dropsIncomplete: true,
  },
  health: {
    // Separate from the callback, which waits for the CRM: a load balancer must not consider the node dead meanwhile.
    about: 'Health checks: `/health`',
    slots: { total: 64, perAddress: 32 },
    memoryBytes: 4 * MIB,
    stall: { bytes: 1, ms: 10_000 },
    maxMs: 12_000,
    dropsIncomplete: true,
  },
  other: {
    about: 'Other public paths: OAuth callback',
    slots: { total: 128, perAddress: 64 },
    memoryBytes: 8 * MIB,
    stall: { bytes: 1, ms: 10_000 },
    maxMs: 12_000,
    dropsIncomplete: true,
  },
  operator: {
    about: 'Operator API, on its own listener',
    slots: { total: 256 },
    memoryBytes: 100 * MIB,
    stall: { bytes: 1, ms: 10_000 },
    maxMs: 12_000,
    dropsIncomplete: true,
  },
} as const satisfies Record<string, Budget>;

/** Clients of `GET /operator/events` on a node. */
export const EVENT_STREAMS: SlotLimits = { total: 250, perOperator: 50 };

/** What the connections of Macs may occupy. */
export const MAC_BUDGET = {
  /** A Mac has one connection, and another while the service has not noticed that the first one broke. */
  socketsPerDevice: 4,
  /** Bytes of frames that are not acknowledged. A Mac whose frame finds no room sends it again after a reconnect. */
  unacknowledgedBytes: { perSession: 4 * MIB, total: 384 * MIB },
} as const;
