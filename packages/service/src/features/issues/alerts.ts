/** What happened to an issue. `reminder`: it is still open. */
export type AlertedChange = 'opened' | 'closed' | 'reminder';

/** An issue as it was when the alert was made. */
export interface AlertedIssue {
  readonly id: string;
  readonly kind: string;
  readonly sentence: string;
  readonly action: string;
  readonly since: number;
  readonly closedAt: number | null;
  /** At most `MAX_LOCATIONS` of the locations that it affects; null: all locations. */
  readonly locationIds: readonly string[] | null;
  /** How many locations it affects; null: all. */
  readonly affected: number | null;
  /** The operator's names of the `locationIds` that have one, at the time of sending. */
  readonly names?: Readonly<Record<string, string>>;
  /** How often it reopened soon after it was closed. Missing in alerts of earlier versions. */
  readonly reopened?: number;
}

export interface AlertChange {
  readonly change: AlertedChange;
  readonly issue: AlertedIssue;
  /** Whether it waited after `MAX_TIMES_AN_HOUR` alerts about its license. */
  readonly heldBack?: boolean;
}

/** Alerts that a receiver gets about one license within an hour. Further changes wait, and are sent together. */
export const MAX_TIMES_AN_HOUR = 10;

export interface Alert {
  /** The same for every attempt to send this alert. */
  readonly id: string;
  readonly at: number;
  /** Several changes are a digest; an alert without changes is a test. */
  readonly changes: readonly AlertChange[];
}

export const MAX_LOCATIONS = 100;
const RECEIVERS = ['webhook', 'slack', 'teams', 'email'] as const;
export type ReceiverName = (typeof RECEIVERS)[number];

/** The reason is shown to the operator: it contains neither the address nor the response of the receiver. */
export type SendResult = { readonly ok: true } | { readonly ok: false; readonly reason: string };

/**
 * A destination of alerts.
 *
 * - `send` makes one attempt and never rejects. `ok` means that the receiver accepted the alert.
 * - An attempt ends within `SEND_TIMEOUT_MS`, whatever the receiver does, and reads a bounded part of its response. Redirects are failures.
 * - An aborted attempt ends at once, as a failure.
 * - Unless private addresses are allowed, no connection is made to a host that has one.
 * - A failed attempt may have reached the receiver. Every attempt carries the id of the alert: a webhook in `webhook-id`, an e-mail in its
 *   `Message-ID`. Slack and Teams have no such field, so there a lost response shows as the same alert twice.
 */
export interface AlertReceiver {
  readonly name: ReceiverName;
  /** Shown to the operator: a host, never the whole address, which may be a secret. */
  readonly target: string;
  send(alert: Alert, signal?: AbortSignal): Promise<SendResult>;
}

export const SEND_TIMEOUT_MS = 15_000;
