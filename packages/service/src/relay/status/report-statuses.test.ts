import { asLocationId, newRequestId } from '@footbridge/protocol/ids';
import { sleepWith } from '@footbridge/runtime/clock';
import type { Clock } from '@footbridge/runtime/clock';
import { collectGarbage } from '@footbridge/testkit/collect-garbage';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { CANCELLED, failed, succeeded } from '../../platform/retry/retry.ts';
import {
  HTTP,
  LOCATION,
  OK,
  OTHER_NODES,
  frame,
  heldCalls,
  lease,
  openCalls,
  publish,
  setUp,
  tick,
} from './report-statuses.fixture.ts';
import type { StatusCalls } from './status-calls.ts';

describe('the CRM receives', () => {
  it('A2 pending at once, and then A3 the report of the Mac verbatim', async () => {
    const { put, updates } = openCalls();
    const { reports, counted } = setUp(put);
    const [good, bad] = [newRequestId(), newRequestId()];
    publish(reports, good);
    publish(reports, bad, 'm2');
    expect(await reports.reported(lease(), frame(good))).toEqual({ outcome: 'delivered' });
    expect(await reports.reported(lease(), frame(bad, 'failed'))).toEqual({ outcome: 'delivered' });
    expect(updates.map(({ messageId, status, error }) => [messageId, status, error])).toEqual([
      ['m1', 'pending', undefined],
      ['m2', 'pending', undefined],
      ['m1', 'delivered', undefined],
      ['m2', 'failed', { code: 'TIMEOUT', message: 'The Mac waited too long.' }],
    ]);
    expect(counted).toEqual(['pending ok', 'pending ok', 'delivered ok', 'failed ok']);
  });

  it('A4 the terminal status after a pending that is in flight', async () => {
    const { put, sent, statuses } = heldCalls();
    const { reports } = setUp(put);
    const id = newRequestId();
    publish(reports, id);
    const ack = reports.reported(lease(), frame(id));
    await tick();
    expect(statuses()).toEqual(['pending']);
    sent[0]?.answer(OK);
    await tick();
    expect(statuses()).toEqual(['pending', 'delivered']);
    sent[1]?.answer(OK);
    expect(await ack).toEqual({ outcome: 'delivered' });
  });

  it('A4 the terminal status at once when pending waits for its next attempt', async () => {
    const { put, sent, statuses } = heldCalls();
    const { reports, clock, counted } = setUp(put);
    const id = newRequestId();
    publish(reports, id);
    await tick();
    sent[0]?.answer(HTTP);
    await tick();
    void reports.reported(lease(), frame(id));
    await tick();
    expect(statuses()).toEqual(['pending', 'delivered']);
    sent[1]?.answer(OK);
    await clock.advance(60_000);
    expect(statuses()).toEqual(['pending', 'delivered']);
    expect(counted).toEqual(['pending unwanted', 'delivered ok']);
  });

  it('A4 pending five times at most, a terminal status as often as it takes', async () => {
    const statuses: string[] = [];
    const { reports, clock, counted } = setUp(async ({ status }, guard) => {
      if (!(await guard.fence?.())) return CANCELLED;
      statuses.push(status);
      return status === 'delivered' && statuses.length > 30 ? OK : HTTP;
    });
    const id = newRequestId();
    publish(reports, id);
    await clock.advance(600_000);
    expect(statuses).toEqual(Array.from({ length: 5 }, () => 'pending'));
    const ack = reports.reported(lease(), frame(id));
    await clock.advance(3_600_000);
    expect(await ack).toEqual({ outcome: 'delivered' });
    expect(counted).toEqual(['pending given_up', 'delivered ok']);
  });

  it('A5 nothing after a terminal status: later frames are acknowledged and dropped', async () => {
    const { put, updates } = openCalls();
    const { reports } = setUp(put);
    const id = newRequestId();
    publish(reports, id);
    await reports.reported(lease(), frame(id));
    expect(await reports.reported(lease(), frame(id, 'failed'))).toEqual({ outcome: 'delivered' });
    expect(await reports.reported(lease(), frame(id))).toEqual({ outcome: 'delivered' });
    expect(updates.map(({ status }) => status)).toEqual(['pending', 'delivered']);
  });

  it('A6 nothing without OAuth, which is logged once per request', async () => {
    const { reports, logs } = setUp(() => expect.unreachable(), { oauthReady: false });
    const ids = [newRequestId(), newRequestId()];
    for (const id of ids) {
      publish(reports, id);
      expect(await reports.reported(lease(), frame(id))).toEqual({ outcome: 'skipped' });
    }
    expect(logs).toEqual(
      ids.map((requestId) => expect.objectContaining({ requestId, reason: 'oauth_not_configured' })),
    );
  });

  it('A6 nothing without a message id or a token, which is not logged', async () => {
    const { reports, logs, steps } = setUp(async () => failed('none', { unsent: true }));
    const [anonymous, unauthorised] = [newRequestId(), newRequestId()];
    publish(reports, anonymous, null);
    publish(reports, unauthorised);
    expect(await reports.reported(lease(), frame(anonymous, 'delivered', null))).toEqual({
      outcome: 'skipped',
    });
    expect(await reports.reported(lease(), frame(unauthorised))).toEqual({ outcome: 'skipped' });
    expect(logs).toEqual([]);
    expect(steps.map(([, step]) => step)).toEqual(['mac_reported', 'mac_reported']);
  });

  it.each([
    ['delivered', []],
    ['pending', ['delivered']],
    ['absent', ['pending', 'delivered']],
  ] as const)(
    'A5 only statuses that it does not show yet (%s: %j) when a lost node may have sent more than the journal has',
    async (shown, expected) => {
      const { put, updates } = openCalls();
      const otherNodes = { ...OTHER_NODES, mayLackStatuses: () => true };
      const { reports, clock } = setUp(put, { otherNodes }, async () => succeeded(shown));
      const requestId = newRequestId();
      reports.published({ requestId, locationId: LOCATION, messageId: 'm1', lease: lease() });
      await clock.advance(0);
      await reports.reported(lease(), frame(requestId));
      expect(updates.map(({ status }) => status)).toEqual(expected);
    },
  );

  it('A4 no pending of a repeated request while the outcome of the first is being delivered', async () => {
    const { put, sent, statuses } = heldCalls();
    const { reports } = setUp(put);
    const [first, second] = [newRequestId(), newRequestId()];
    publish(reports, first);
    await tick();
    sent[0]?.answer(OK);
    await tick();
    const ack = reports.reported(lease(), frame(first));
    await tick();
    publish(reports, second);
    await tick();
    expect(statuses()).toEqual(['pending', 'delivered']);
    sent[1]?.answer(OK);
    expect(await ack).toEqual({ outcome: 'delivered' });
    await tick();
    expect(statuses()).toEqual(['pending', 'delivered']);
  });
});

describe('a report of the Mac', () => {
  it('A11 a report is acknowledged as rejected with the reason when the CRM rejected it permanently', async () => {
    const refused = failed('refused', { retryable: false, status: 422, reason: 'No such message' });
    const { reports, logs } = setUp(async ({ status }) => (status === 'pending' ? OK : refused));
    const id = newRequestId();
    publish(reports, id);
    expect(await reports.reported(lease(), frame(id))).toEqual({
      outcome: 'rejected',
      reason: 'the CRM refused: 422 No such message',
    });
    expect(logs).toEqual([
      expect.objectContaining({ event: 'status.not_accepted', requestId: id, http: 422 }),
    ]);
  });

  it('A11 a report is acknowledged only after the CRM accepted it, also when the Mac has reconnected', async () => {
    const { put, sent } = heldCalls();
    const { reports, currentEpoch, clock } = setUp(put);
    const id = newRequestId();
    publish(reports, id);
    await tick();
    sent[0]?.answer(OK);
    await tick();
    const first = reports.reported(lease(1), frame(id));
    await tick();
    currentEpoch.value = 2;
    const second = reports.reported(lease(2), frame(id));
    await tick();
    sent[1]?.answer(HTTP);
    await clock.advance(1000);
    sent[2]?.answer(OK);
    expect(await Promise.all([first, second])).toEqual([{ outcome: 'delivered' }, { outcome: 'delivered' }]);
    expect(sent).toHaveLength(3);
  });

  it('A11 a report is not acknowledged when its lease was lost, and the repeated report is delivered', async () => {
    const { put, sent } = heldCalls();
    const { reports, currentEpoch } = setUp(put);
    const id = newRequestId();
    publish(reports, id);
    await tick();
    sent[0]?.answer(OK);
    const first = reports.reported(lease(1), frame(id));
    await tick();
    currentEpoch.value = 2;
    sent[1]?.answer(HTTP);
    expect(await first).toBe('retry');
    const second = reports.reported(lease(2), frame(id));
    await tick();
    sent[2]?.answer(OK);
    expect(await second).toEqual({ outcome: 'delivered' });
  });

  it('a report is rejected for a request of another location, and nothing is sent', async () => {
    const { put, updates } = openCalls();
    const { reports, told } = setUp(put);
    const [mine, past] = [newRequestId(), newRequestId()];
    publish(reports, mine);
    told.set(past, { locationId: 'loc1', messageId: 'm1', statuses: [] });
    const other = lease(1, asLocationId('loc2'));
    for (const id of [mine, past])
      expect(await reports.reported(other, frame(id))).toMatchObject({ outcome: 'rejected' });
    expect(updates.map(({ status }) => status)).toEqual(['pending']);
  });
});

describe('closing', () => {
  it('completes requests in flight and leaves the others to the Mac', async () => {
    const { put, sent, statuses } = heldCalls();
    const { reports } = setUp(put);
    const id = newRequestId();
    publish(reports, id);
    await tick();
    sent[0]?.answer(OK);
    const ack = reports.reported(lease(), frame(id));
    await tick();
    let isClosed = false;
    const closing = reports.close().then(() => (isClosed = true));
    await tick();
    expect(isClosed).toBe(false);
    sent[1]?.answer(HTTP);
    expect(await ack).toBe('retry');
    await closing;
    expect(statuses()).toEqual(['pending', 'delivered']);
  });

  it('ends the wait for the next attempt', async () => {
    const { reports, clock } = setUp(async (_update, guard) => ((await guard.fence?.()) ? HTTP : CANCELLED));
    const id = newRequestId();
    publish(reports, id, null);
    const ack = reports.reported(lease(), frame(id, 'delivered', null));
    expect(await ack).toEqual({ outcome: 'skipped' });
    const other = newRequestId();
    publish(reports, other);
    const retried = reports.reported(lease(), frame(other));
    await clock.advance(100_000);
    await reports.close();
    expect(await retried).toBe('retry');
  });
});

describe('memory', () => {
  it('memory does not grow with the number of messages', async () => {
    const { reports, steps, counted } = setUp(async () => OK);
    const pass = async (count: number) => {
      for (let index = 0; index < count; index++) {
        const id = newRequestId();
        publish(reports, id, `m${index}`);
        await reports.reported(lease(), frame(id, 'delivered', `m${index}`));
      }
      steps.length = 0;
      counted.length = 0;
      collectGarbage();
      return process.memoryUsage().heapUsed;
    };
    const early = await pass(42_000);
    const late = await pass(20_000);
    expect(late - early).toBeLessThan(2_000_000);
  });
});

/**
 * The queue, the deliveries and the retry loop with a CRM whose requests arrive late, get lost, are rejected or get slow responses, in
 * every order the scheduler can find, while the Mac repeats its reports.
 */
describe('in any order of events', () => {
  it('A4 the CRM receives nothing, P, P·D, P·F, D or F for each request, in this order', async () => {
    const status = fc.constantFrom('delivered' as const, 'failed' as const);
    await fc.assert(
      fc.asyncProperty(
        fc.scheduler(),
        fc.array(fc.record({ reports: fc.array(status, { maxLength: 3 }), faults: fc.array(fc.nat(3)) }), {
          minLength: 1,
          maxLength: 4,
        }),
        async (scheduler, messages) => {
          const arrivals = new Map<string, string[]>();
          const faults = new Map(messages.map((message, index) => [`m${index}`, [...message.faults]]));
          const put: StatusCalls['put'] = async (update, guard) => {
            await scheduler.schedule(Promise.resolve(), `${update.status} is queued`);
            if (guard.cancellation?.signal.aborted || !(await guard.fence?.())) return CANCELLED;
            await scheduler.schedule(Promise.resolve(), `${update.status} travels`);
            const seen = arrivals.get(update.messageId) ?? [];
            arrivals.set(update.messageId, seen);
            const fault = faults.get(update.messageId)?.shift() ?? 0;
            // 1 is lost on the way there, 2 on the way back, 3 is rejected temporarily.
            if (fault !== 1) seen.push(update.status);
            await scheduler.schedule(Promise.resolve(), `${update.status} is answered`);
            if (fault === 0) return OK;
            return failed(fault === 3 ? 'not_yet' : 'timeout', { inDoubt: fault !== 3 });
          };
          const after: Clock['after'] = (_ms, task) => {
            let isCancelled = false;
            void scheduler.schedule(Promise.resolve(), 'a wait ends').then(() => isCancelled || task());
            return () => (isCancelled = true);
          };
          const clock: Clock = {
            now: () => 0,
            monotonic: () => 0,
            after,
            sleep: (ms, signal) => sleepWith(after, ms, signal),
          };
          const { reports } = setUp(put, { clock });
          const acks = messages.flatMap(({ reports: said }, index) => {
            const id = newRequestId();
            publish(reports, id, `m${index}`);
            return said.map(async (reported) => {
              await scheduler.schedule(Promise.resolve(), `the Mac reports ${reported}`);
              return reports.reported(lease(), frame(id, reported, `m${index}`));
            });
          });
          await scheduler.waitIdle();
          await Promise.all(acks);
          for (const [messageId, seen] of arrivals) {
            // Retries of the same status are one status.
            const distinct = seen.filter((one, index) => one !== seen[index - 1]).join(' ');
            expect(
              ['', 'pending', 'pending delivered', 'pending failed', 'delivered', 'failed'],
              messageId,
            ).toContain(distinct);
          }
          for (const [index, { reports: said }] of messages.entries())
            if (said.length > 0) expect(arrivals.get(`m${index}`)?.at(-1)).toMatch(/delivered|failed/);
        },
      ),
      { numRuns: 150 },
    );
  });
});
