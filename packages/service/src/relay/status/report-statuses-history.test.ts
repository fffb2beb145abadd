import { newRequestId } from '@footbridge/protocol/ids';
import type { FakeClock } from '@footbridge/testkit/fake-clock';
import { describe, expect, it } from 'vitest';

import { failed, succeeded } from '../../platform/retry/retry.ts';
import type { Attempt } from '../../platform/retry/retry.ts';
import type { SentStatus, SentStatuses } from '../journal/journal.ts';
import {
  HTTP,
  LOCATION,
  OTHER_NODES,
  READ_LAG_MS,
  UNREADABLE,
  frame,
  lease,
  openCalls,
  publish,
  setUp,
} from './report-statuses.fixture.ts';
import type { ShownStatus, StatusCalls, StatusUpdate } from './status-calls.ts';

describe('after a restart', () => {
  const known = (statuses: SentStatus[]): SentStatuses => ({
    locationId: LOCATION,
    messageId: 'm1',
    statuses,
  });

  it('A5 no status is sent again', async () => {
    const { reports, told } = setUp(() => expect.unreachable());
    const id = newRequestId();
    told.set(id, known(['pending', 'delivered']));
    expect(await reports.reported(lease(), frame(id))).toEqual({ outcome: 'delivered' });
  });

  it('A4 a terminal status waits as long as a pending of the earlier run may be in flight', async () => {
    const { put, updates } = openCalls();
    const { reports, clock } = setUp(put);
    const id = newRequestId(clock.now() - 3000);
    const ack = reports.reported(lease(), frame(id));
    await clock.advance(10_900);
    expect(updates).toEqual([]);
    await clock.advance(200);
    expect(await ack).toEqual({ outcome: 'delivered' });
    expect(updates.map(({ status }) => status)).toEqual(['delivered']);
  });

  it('A4 a terminal status does not wait when pending was accepted or was sent long ago', async () => {
    const { reports, clock, told } = setUp(openCalls().put);
    const answered = newRequestId(clock.now() - 3000);
    told.set(answered, known(['pending']));
    expect(await reports.reported(lease(), frame(answered))).toEqual({ outcome: 'delivered' });
    const old = newRequestId(clock.now() - 3_600_000);
    expect(await reports.reported(lease(), frame(old))).toEqual({ outcome: 'delivered' });
  });

  it('a repeated report is delivered once', async () => {
    const { put, updates } = openCalls();
    const { reports, clock } = setUp(put);
    const id = newRequestId(clock.now());
    const acks = [1, 2, 3].map(() => reports.reported(lease(), frame(id)));
    await clock.advance(12_000);
    expect(await Promise.all(acks)).toEqual([1, 2, 3].map(() => ({ outcome: 'delivered' })));
    expect(updates.map(({ status }) => status)).toEqual(['delivered']);
  });

  it('the message id comes from the journal rather than the Mac, and an invalid request id is rejected', async () => {
    const { put, updates } = openCalls();
    const { reports, told } = setUp(put);
    const id = newRequestId();
    told.set(id, known(['pending']));
    await reports.reported(lease(), frame(id, 'delivered', 'another'));
    expect(updates.map(({ messageId }) => messageId)).toEqual(['m1']);
    expect(await reports.reported(lease(), frame('made up'))).toMatchObject({ outcome: 'rejected' });
  });
});

describe('a report about a message whose statuses are not in the journal', () => {
  const otherNodes = { ...OTHER_NODES, callsEnded: async () => 0 };
  /** A node that took the location over, and a CRM that shows `shown` in turn, the last one for ever. */
  function takenOver(...shown: Attempt<ShownStatus>[]) {
    const { put, updates } = openCalls();
    const reads: string[] = [];
    const read: StatusCalls['read'] = async (locationId, messageId) => {
      reads.push(`${locationId} ${messageId}`);
      return shown[Math.min(reads.length, shown.length) - 1] ?? UNREADABLE;
    };
    return { ...setUp(put, { otherNodes }, read), updates, reads };
  }
  const old = (clock: FakeClock) => newRequestId(clock.now() - 120_000);
  const statusesOf = (updates: StatusUpdate[]) => updates.map(({ status }) => status);

  it.each<[ShownStatus, 'delivered' | 'failed', string[]]>([
    ['delivered', 'delivered', []],
    ['delivered', 'failed', []],
    ['failed', 'failed', []],
    ['pending', 'delivered', ['delivered']],
    ['none', 'delivered', ['pending', 'delivered']],
    ['failed', 'delivered', ['pending', 'delivered']],
  ])('A5 while the CRM shows %s, %s is reported as %j', async (shown, status, sent) => {
    const { reports, clock, updates, reads } = takenOver(succeeded(shown));
    expect(await reports.reported(lease(), frame(old(clock), status))).toEqual({ outcome: 'delivered' });
    expect(statusesOf(updates)).toEqual(sent);
    expect(reads).toEqual(['loc1 m1']);
  });

  it('A4 a report is delivered with pending first when the CRM cannot be read', async () => {
    const { reports, clock, updates } = takenOver(UNREADABLE);
    expect(await reports.reported(lease(), frame(old(clock)))).toEqual({ outcome: 'delivered' });
    expect(statusesOf(updates)).toEqual(['pending', 'delivered']);
  });

  it('A5 a report is read again when the CRM failed or the token was renewed', async () => {
    const expired = failed('token_expired', { status: 401 });
    const { reports, clock, updates, reads } = takenOver(HTTP, expired, succeeded('delivered'));
    const ack = reports.reported(lease(), frame(old(clock)));
    await clock.advance(60_000);
    expect(await ack).toEqual({ outcome: 'delivered' });
    expect([updates, reads.length]).toEqual([[], 3]);
  });

  it('A5 a report is read also when the journal has only the failure of an earlier request', async () => {
    const { reports, clock, updates, last, reads } = takenOver(succeeded('delivered'));
    last.value = 'failed';
    expect(await reports.reported(lease(), frame(old(clock)))).toEqual({ outcome: 'delivered' });
    expect([updates, reads.length]).toEqual([[], 1]);
  });

  it('A3 a report is skipped and counted when neither the journal nor the CRM knows the message', async () => {
    const { reports, clock, updates, counted } = takenOver(succeeded('absent'));
    const ack = reports.reported(lease(), frame(old(clock)));
    await clock.advance(READ_LAG_MS);
    expect(await ack).toEqual({ outcome: 'skipped' });
    expect(updates).toEqual([]);
    expect(counted).toEqual(['delivered unknown_message']);
  });

  it('A3 a report is skipped only after the read lag of the CRM, whatever the clock of the other node said', async () => {
    const { reports, clock, updates, reads } = takenOver(succeeded('absent'), succeeded('pending'));
    const ack = reports.reported(lease(), frame(old(clock)));
    await clock.advance(READ_LAG_MS - 1);
    expect([updates, reads.length]).toEqual([[], 1]);
    await clock.advance(1);
    expect(await ack).toEqual({ outcome: 'delivered' });
    expect([statusesOf(updates), reads.length]).toEqual([['delivered'], 2]);
  });

  it('A3 a report is delivered when the journal has the request, even if the CRM does not show the message', async () => {
    const { reports, clock, told, updates } = takenOver(succeeded('absent'));
    const id = old(clock);
    told.set(id, { locationId: LOCATION, messageId: 'm1', statuses: [] });
    expect(await reports.reported(lease(), frame(id))).toEqual({ outcome: 'delivered' });
    expect(statusesOf(updates)).toEqual(['pending', 'delivered']);
  });

  it('A11 a report is left to the Mac when the service stops during the read', async () => {
    const { reports, clock, updates } = takenOver(HTTP);
    const ack = reports.reported(lease(), frame(old(clock)));
    await clock.advance(100);
    await reports.close();
    expect(await ack).toBe('retry');
    expect(updates).toEqual([]);
  });

  it('A4 a report is not read when this process or the journal knows what the CRM was told', async () => {
    const { reports, clock, told, last, reads } = takenOver(succeeded('none'));
    const [here, journaled, repeated] = [newRequestId(), old(clock), old(clock)];
    publish(reports, here);
    await reports.reported(lease(), frame(here));
    told.set(journaled, { locationId: LOCATION, messageId: 'm2', statuses: ['pending', 'delivered'] });
    await reports.reported(lease(), frame(journaled, 'delivered', 'm2'));
    last.value = 'pending';
    await reports.reported(lease(), frame(repeated, 'delivered', 'm3'));
    expect(reads).toEqual([]);
  });
});
