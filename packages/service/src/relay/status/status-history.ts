import type { Clock } from '@footbridge/runtime/clock';
import type { Log } from '@footbridge/runtime/log';
import { SerialByKey } from '@footbridge/runtime/serial-by-key';

import type { Cancellation } from '../../platform/retry/retry.ts';
import { retry } from '../../platform/retry/retry.ts';
import type { SentStatuses } from '../journal/journal.ts';
import type { Journal } from '../journal/journal-sql.ts';
import { newerStatus } from '../switchboard/switchboard.ts';
import type { Lease, ReportedStatus, Switchboard } from '../switchboard/switchboard.ts';
import type { KnownStatus, MessageAttempt } from './message-attempt.ts';
import type { ShownStatus, StatusCalls } from './status-calls.ts';
import { STATUS_RETRY_POLICIES } from './delivery-queue.ts';

/** The part of the switchboard that asks other nodes. */
export type OtherNodes = Pick<
  Switchboard,
  'callsEnded' | 'mayLackStatuses' | 'statusElsewhere' | 'isUnderWayElsewhere'
>;

export interface StatusHistoryDeps {
  readonly calls: Pick<StatusCalls, 'read'>;
  /** How long the CRM's reads lag behind its writes. */
  readonly readLagMs: number;
  /** The statuses that earlier runs and other nodes sent to the CRM. */
  readonly past: Pick<Journal, 'sentStatuses' | 'lastStatus' | 'requestsOf'>;
  /** Other nodes may own a location before or after this node. Only the owner may call the CRM. */
  readonly otherNodes: OtherNodes | undefined;
  readonly isCurrent: (lease: Lease) => boolean;
  readonly clock: Clock;
  readonly log: Log;
}

type Message = Pick<MessageAttempt, 'requestId' | 'locationId' | 'messageId'>;

/** What the CRM was told about messages by other nodes and earlier runs: from the nodes, the journal, or the CRM itself. */
export class StatusHistory {
  readonly #deps: StatusHistoryDeps;
  readonly #closed: Cancellation;
  /**
   * Reads about requests that only the Mac knows. One at a time per location: a Mac that invents requests must not use up the calls of its
   * tenant (T32).
   */
  readonly #unverified = new SerialByKey<object, ShownStatus | undefined>();

  constructor(deps: StatusHistoryDeps, closed: Cancellation) {
    this.#deps = deps;
    this.#closed = closed;
  }

  /**
   * The last status that the CRM was told, also by the former owner of the location: waits until that node has ended its calls. The nodes
   * know it before it is in the journal. `here` is what this node knew under an earlier lease. A rejection has no lease.
   */
  async lastStatus(
    { requestId, locationId, messageId }: Message,
    lease: Lease | undefined,
    here?: Pick<MessageAttempt, 'lastStatus' | 'epoch'>,
  ): Promise<KnownStatus> {
    const { otherNodes, past, log } = this.#deps;
    if (messageId === undefined) return 'none';
    let newest: Pick<ReportedStatus, 'status' | 'epoch'> | undefined;
    if (otherNodes !== undefined && lease !== undefined) {
      await otherNodes.callsEnded(lease);
      const known = here && { status: await here.lastStatus, epoch: here.epoch };
      newest = newerStatus(await otherNodes.statusElsewhere(messageId, lease), known);
    }
    const reported = newest?.status ?? 'none';
    try {
      const written = (await past.lastStatus(locationId, messageId, requestId)) ?? 'none';
      if (written !== 'delivered' && reported !== 'none') return reported;
      const isComplete = lease === undefined || otherNodes?.mayLackStatuses(lease) !== true;
      if (written === 'pending' || written === 'delivered' || (written === 'none' && isComplete))
        return written;
      // A node may have reported more than the journal has, and died before it recorded that.
      return await this.#shownOr(written, locationId, messageId, lease);
    } catch (error) {
      log.warn(
        { event: 'status.journal_unavailable', err: error },
        'journal unavailable; earlier statuses unknown',
      );
      if (reported !== 'none') return reported;
      // A message without any status would be worse than a repeated status.
      return this.#shownOr('none', locationId, messageId, lease);
    }
  }

  /**
   * Whether the `failed` of a rejected request still says something new: the queues of other nodes do not know the request, and a repeat of
   * it may have succeeded there (A5). When some of them cannot be asked, only the first request of a message is reported, and once.
   */
  async isStillUnknown(
    { requestId, locationId, messageId = '', lastStatus }: Message & Pick<MessageAttempt, 'lastStatus'>,
    wasSent: boolean,
  ): Promise<boolean> {
    const { otherNodes, past } = this.#deps;
    const isUnderWay = await otherNodes?.isUnderWayElsewhere(locationId, messageId);
    if (isUnderWay === true) return false;
    if (isUnderWay === 'unknown') {
      const requests = await past
        .requestsOf({ direction: 'outbound', locationId, messageId })
        .catch(() => undefined);
      if (wasSent || requests?.every(({ id }) => id === requestId) !== true) return false;
    }
    const known = await lastStatus;
    return past.lastStatus(locationId, messageId, requestId).then(
      (last) => (last ?? 'none') === known,
      () => !wasSent,
    );
  }

  /**
   * What the CRM shows for a message that the Mac reports, but whose statuses are not in the journal: its node was killed, or the
   * database was unavailable. Undefined when it cannot be read. A message that nothing but the Mac knows counts as absent only after a second
   * read. The wait between them does not depend on the time in the request id: it was another node's clock.
   */
  async shownForReport(
    { locationId, restored }: Pick<MessageAttempt, 'locationId' | 'restored'>,
    messageId: string,
    lease: Lease,
  ): Promise<ShownStatus | undefined> {
    const { clock, readLagMs } = this.#deps;
    const read = () => this.#shown(locationId, messageId, lease);
    if (restored !== 'unverified') return read();
    return this.#unverified.add(locationId, {}, async () => {
      const shown = await read();
      if (shown !== 'absent') return shown;
      await clock.sleep(readLagMs, this.#closed.signal);
      return read();
    });
  }

  async sentStatuses(requestId: string): Promise<SentStatuses | undefined> {
    try {
      return await this.#deps.past.sentStatuses(requestId);
    } catch (error) {
      // The CRM rejects a status for a message of another location, so it is safe to send one while the journal is unavailable.
      this.#deps.log.warn(
        { event: 'status.journal_unavailable', requestId, err: error },
        'journal unavailable; request unknown',
      );
      return undefined;
    }
  }

  /**
   * What the CRM shows, or `otherwise` when it shows no status of ours or cannot be read. Reads of the CRM lag behind its writes: after
   * `failed`, a read may still show the status before it.
   */
  async #shownOr(
    otherwise: KnownStatus,
    locationId: string,
    messageId: string,
    lease: Lease | undefined,
  ): Promise<KnownStatus> {
    const shown = await this.#shown(locationId, messageId, lease);
    if (shown === 'delivered') return shown;
    return otherwise !== 'failed' && (shown === 'pending' || shown === 'failed') ? shown : otherwise;
  }

  async #shown(
    locationId: string,
    messageId: string,
    lease: Lease | undefined,
  ): Promise<ShownStatus | undefined> {
    const { calls, clock, isCurrent } = this.#deps;
    const cancellation = this.#closed;
    const result = await retry({
      attempt: (previous) => calls.read(locationId, messageId, { previous, cancellation }),
      policy: STATUS_RETRY_POLICIES.rejection,
      clock,
      isWanted: () => !cancellation.isCancelled && (lease === undefined || isCurrent(lease)),
      cancellation,
    });
    return result.ok ? result.value : undefined;
  }
}
