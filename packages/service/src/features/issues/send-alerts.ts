import { randomUUID } from 'node:crypto';

import { every } from '@footbridge/runtime/clock';
import type { Clock } from '@footbridge/runtime/clock';
import type { Failpoint } from '@footbridge/runtime/failpoints';
import type { Log } from '@footbridge/runtime/log';
import { isQuiet } from '@footbridge/runtime/quiet-hours';
import type { QuietHours } from '@footbridge/runtime/quiet-hours';

import type { AlertOutbox, ClaimedAlert } from './alert-outbox-sql.ts';
import type { Alert, AlertReceiver, SendResult } from './alerts.ts';

export interface AlertSenderDeps {
  readonly outbox: AlertOutbox;
  readonly receivers: readonly AlertReceiver[];
  readonly quietHours: QuietHours | undefined;
  readonly reminderMs: number | null;
  /** The id of this node. */
  readonly node: string;
  readonly clock: Clock;
  readonly log: Log;
  readonly failpoint: Failpoint | undefined;
  readonly count: (receiver: string, result: 'sent' | 'failed' | 'given_up') => void;
}

const CHECK_MS = 5000;
/** More changes than this at one moment become a digest. */
const MAX_SINGLE = 3;
const MAX_IN_DIGEST = 100;
const CLOSE_MS = 1000;
const FIRST_RETRY_MS = 5000;
const MAX_RETRY_MS = 900_000;
/** After this time an alert is outdated: later ones go first, and `footbridge issues` lists all issues. */
const GIVE_UP_MS = 3 * 86_400_000;

/**
 * Tells the receivers when an issue opens, when it closes, and from time to time that it is still open. Each receiver has its own queue, so one that
 * hangs or fails delays only itself.
 */
export class AlertSender {
  readonly #deps: AlertSenderDeps;
  readonly #stop: () => void;
  /** The work of each receiver. */
  readonly #working = new Map<string, Promise<void>>();
  readonly #failing = new Set<string>();
  readonly #aborting = new AbortController();
  #isClosing = false;

  constructor(deps: AlertSenderDeps) {
    this.#deps = deps;
    this.#stop = every(deps.clock, CHECK_MS, () => {
      for (const receiver of deps.receivers) this.#start(receiver);
    });
  }

  /** Sends a test alert to every receiver, bypassing the queue and quiet hours. */
  test(): Promise<{ receiver: AlertReceiver; result: SendResult }[]> {
    const alert: Alert = { id: `alert_${randomUUID()}`, at: this.#deps.clock.now(), changes: [] };
    return Promise.all(
      this.#deps.receivers.map(async (receiver) => ({
        receiver,
        result: await receiver.send(alert, this.#aborting.signal),
      })),
    );
  }

  /** Resolves when nothing is being sent. */
  async idle(): Promise<void> {
    await Promise.all(this.#working.values());
  }

  /** Waits briefly for attempts in progress: an aborted one may have arrived, and would be sent again. */
  async close(): Promise<void> {
    this.#stop();
    this.#isClosing = true;
    const closed = new AbortController();
    await Promise.race([this.idle(), this.#deps.clock.sleep(CLOSE_MS, closed.signal).catch(() => {})]);
    closed.abort();
    this.#aborting.abort();
    await this.idle();
  }

  #start(receiver: AlertReceiver): void {
    const { name } = receiver;
    if (this.#working.has(name)) return;
    const work = this.#work(receiver).finally(() => this.#working.delete(name));
    this.#working.set(name, work);
  }

  async #work(receiver: AlertReceiver): Promise<void> {
    const { outbox, quietHours, reminderMs, node, clock, log } = this.#deps;
    const { name } = receiver;
    if (quietHours !== undefined && isQuiet(quietHours, clock.now())) return;
    try {
      await outbox.enqueue(name, { reminderMs, group });
      for (;;) {
        const claimed = this.#isClosing ? undefined : await outbox.claim(name, node);
        if (claimed === undefined) return;
        const isSent = await this.#attempt(receiver, claimed);
        if (!isSent) return;
      }
    } catch (error) {
      log.warn({ event: 'alert.queue_failed', receiver: name, err: error }, 'alerts not read, will retry');
    }
  }

  /** Resolves with whether the next alert may follow. */
  async #attempt(receiver: AlertReceiver, { alert, attempts, createdAt }: ClaimedAlert): Promise<boolean> {
    const { outbox, clock, log, count, failpoint } = this.#deps;
    const { name } = receiver;
    const result = await receiver.send(alert, this.#aborting.signal);
    if (failpoint !== undefined) await failpoint('alerts.afterSend');
    if (result.ok) {
      await outbox.sent(alert.id);
      count(name, 'sent');
      log.info(
        { event: 'alert.sent', receiver: name, id: alert.id, changes: alert.changes.length },
        'alert sent',
      );
      this.#failing.delete(name);
      return true;
    }
    const { reason } = result;
    if (clock.now() - createdAt >= GIVE_UP_MS) {
      await outbox.giveUp(alert.id, reason);
      count(name, 'given_up');
      log.error(
        { event: 'alert.given_up', receiver: name, id: alert.id, reason },
        'alert given up after three days',
      );
      return true;
    }
    await outbox.failed(alert.id, reason, Math.min(MAX_RETRY_MS, FIRST_RETRY_MS * 2 ** attempts));
    count(name, 'failed');
    if (!this.#failing.has(name))
      log.warn({ event: 'alert.failed', receiver: name, id: alert.id, reason }, 'alert not sent, will retry');
    this.#failing.add(name);
    return false;
  }
}

/** A few changes become one alert each, many become digests. */
function group(changes: Alert['changes']): Alert['changes'][] {
  const size = changes.length > MAX_SINGLE ? MAX_IN_DIGEST : 1;
  return Array.from({ length: Math.ceil(changes.length / size) }, (_, index) =>
    changes.slice(index * size, (index + 1) * size),
  );
}
