import type { MessageStatusFrame } from '@footbridge/protocol/frames';
import { asLocationId } from '@footbridge/protocol/ids';
import type { LocationId } from '@footbridge/protocol/ids';
import { FakeClock } from '@footbridge/testkit/fake-clock';

import { CANCELLED, failed, succeeded } from '../../platform/retry/retry.ts';
import type { Attempt, SendGuard } from '../../platform/retry/retry.ts';
import type { LastStatus, SentStatuses, StepName } from '../journal/journal.ts';
import type { Lease } from '../switchboard/switchboard.ts';
import { createStatusReports } from './report-statuses.ts';
import type { StatusReports, StatusReportsDeps } from './report-statuses.ts';
import type { StatusCalls, StatusUpdate } from './status-calls.ts';
import type { OtherNodes } from './status-history.ts';

export const LOCATION = asLocationId('loc1') as LocationId;
export const lease = (epoch = 1, locationId = LOCATION): Lease => ({
  locationId,
  deviceId: 'device-1',
  sessionId: `session-${epoch}`,
  epoch,
});
/** Other nodes that know no message. */
export const OTHER_NODES: OtherNodes = {
  callsEnded: async () => 20_000,
  mayLackStatuses: () => false,
  statusElsewhere: async () => undefined,
  isUnderWayElsewhere: async () => false,
};
export const OK = succeeded(undefined);
/** The app lacks the scope to read messages. */
export const UNREADABLE = failed('refused', { retryable: false, status: 401 });
export const READ_LAG_MS = 10_000;
export const SETTLE_MS = 20_000;
export const HTTP = failed('http', { status: 500, reason: 'oops' });

interface SetUp {
  clock: FakeClock;
  reports: StatusReports;
  logs: object[];
  steps: [string, StepName, unknown][];
  told: Map<string, SentStatuses>;
  /** What the journal has as the last status of every message. */
  last: { value: LastStatus | undefined };
  currentEpoch: { value: number };
  counted: string[];
}

export function setUp(
  put: StatusCalls['put'],
  more: Partial<Pick<StatusReportsDeps, 'oauthReady' | 'otherNodes' | 'clock' | 'past' | 'suspects'>> = {},
  read: StatusCalls['read'] = async () => UNREADABLE,
): SetUp {
  const clock = new FakeClock();
  const logs: object[] = [];
  const steps: SetUp['steps'] = [];
  const counted: string[] = [];
  const told = new Map<string, SentStatuses>();
  const last: SetUp['last'] = { value: undefined };
  const currentEpoch = { value: 1 };
  const log = (fields: object, message: string) => logs.push({ ...fields, message });
  const reports = createStatusReports({
    oauthReady: true,
    calls: { put, read },
    readLagMs: READ_LAG_MS,
    settleMs: SETTLE_MS,
    journal: {
      step: (id, step, recorded) => void steps.push([id, step, recorded?.detail?.['status']]),
    },
    past: {
      sentStatuses: async (requestId) => told.get(requestId),
      lastStatus: async () => last.value,
      requestsOf: async () => [],
    },
    isCurrent: ({ epoch }) => epoch === currentEpoch.value,
    clock,
    log: { debug: log, info: log, warn: log, error: log },
    failpoint: undefined,
    otherNodes: undefined,
    count: (status, result) => counted.push(`${status} ${result}`),
    ...more,
  });
  return { clock, reports, logs, steps, told, last, currentEpoch, counted };
}

/** Status calls whose responses the test controls. */
export function heldCalls() {
  const sent: { update: StatusUpdate; answer: (result: Attempt<undefined>) => void }[] = [];
  return {
    sent,
    put: async (update: StatusUpdate, guard: SendGuard) => {
      if (!(await guard.fence?.())) return CANCELLED;
      return new Promise<Attempt<undefined>>((answer) => sent.push({ update, answer }));
    },
    statuses: () => sent.map(({ update }) => update.status),
  };
}

/** Status calls that all succeed. */
export function openCalls() {
  const updates: StatusUpdate[] = [];
  return { updates, put: async (update: StatusUpdate) => (updates.push(update), OK) };
}

export const frame = (
  requestId: string,
  status: 'delivered' | 'failed' = 'delivered',
  messageId: string | null = 'm1',
): MessageStatusFrame => ({
  type: 'message_status',
  seq: 1,
  requestId,
  messageId,
  status,
  ...(status === 'failed' && { error: { code: 'TIMEOUT', message: 'The Mac waited too long.' } }),
});
export const publish = (
  reports: StatusReports,
  requestId: string,
  messageId: string | null = 'm1',
  by = lease(),
) => reports.published({ requestId, locationId: by.locationId, messageId, lease: by });
export const tick = () => new Promise((resolve) => setImmediate(resolve));
