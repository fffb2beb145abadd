import { newRequestId } from '@footbridge/protocol/ids';
import { describe, expect, it } from 'vitest';

import { failed } from '../../platform/retry/retry.ts';
import type { SendGuard } from '../../platform/retry/retry.ts';
import type { MessageTrail } from '../journal/journal.ts';
import {
  HTTP,
  LOCATION,
  OK,
  OTHER_NODES,
  heldCalls,
  openCalls,
  publish,
  setUp,
  tick,
} from './report-statuses.fixture.ts';
import type { StatusReportsDeps } from './report-statuses.ts';

describe('the CRM receives', () => {
  it('A7 failed for a rejected request, and no caller waits for it', async () => {
    const { put, updates } = openCalls();
    const { reports } = setUp(put);
    const rejected = {
      requestId: newRequestId(),
      locationId: LOCATION,
      code: 'CLIENT_NOT_CONNECTED',
      message: 'No Mac',
    };
    reports.rejected({ ...rejected, messageId: 'm1' });
    for (const messageId of [null, '..', '']) reports.rejected({ ...rejected, messageId });
    await tick();
    expect(updates).toEqual([
      {
        locationId: LOCATION,
        messageId: 'm1',
        status: 'failed',
        error: { code: 'CLIENT_NOT_CONNECTED', message: 'No Mac' },
      },
    ]);
  });

  it('A4 the rejection of a first request before the pending of its repetition, and not again after it', async () => {
    const { put, sent, statuses } = heldCalls();
    const { reports, clock } = setUp(put);
    reports.rejected({
      requestId: newRequestId(),
      locationId: LOCATION,
      messageId: 'm1',
      code: 'CLIENT_NOT_CONNECTED',
      message: 'No Mac',
    });
    await tick();
    publish(reports, newRequestId());
    await tick();
    expect(statuses()).toEqual(['failed']);
    sent[0]?.answer(HTTP);
    await clock.advance(60_000);
    expect(statuses()).toEqual(['failed', 'pending']);
  });

  it('A4 one rejection of requests that come at once, and another for a repeat after it', async () => {
    const { put, sent, statuses } = heldCalls();
    const { reports } = setUp(put);
    const reject = () =>
      reports.rejected({
        requestId: newRequestId(),
        locationId: LOCATION,
        messageId: 'm1',
        code: 'CLIENT_NOT_CONNECTED',
        message: 'No Mac is connected for this location.',
      });
    for (let count = 0; count < 3; count++) reject();
    await tick();
    sent[0]?.answer(OK);
    await tick();
    expect(statuses()).toEqual(['failed']);
    reject();
    await tick();
    expect(statuses()).toEqual(['failed', 'failed']);
  });

  it('A5 no rejection that could not be sent in 1.5 s when there are other nodes', async () => {
    const put = async () => failed('crowded', { unsent: true, retryAfterMs: 1000 });
    const guards: SendGuard[] = [];
    const { reports, clock } = setUp(async (_update, guard) => (guards.push(guard), put()), {
      otherNodes: OTHER_NODES,
    });
    reports.rejected({
      requestId: newRequestId(),
      locationId: LOCATION,
      messageId: 'm1',
      code: 'CLIENT_NOT_CONNECTED',
      message: 'No Mac',
    });
    await clock.advance(0);
    expect(guards).toHaveLength(1);
    await clock.advance(60_000);
    expect(guards).toHaveLength(1);
  });

  describe('when a rejection was lost and there are other nodes', () => {
    const rejection = {
      locationId: LOCATION,
      messageId: 'm1',
      code: 'CLIENT_NOT_CONNECTED',
      message: 'No Mac',
    };

    async function lose(more: Partial<Pick<StatusReportsDeps, 'past' | 'otherNodes'>> = {}) {
      const calls = heldCalls();
      const set = setUp(calls.put, { otherNodes: OTHER_NODES, ...more });
      set.reports.rejected({ ...rejection, requestId: newRequestId() });
      await set.clock.advance(0);
      calls.sent[0]?.answer(failed('network', { reason: 'the response was lost' }));
      return { ...set, ...calls };
    }

    it('A7 failed again while no other node has told it anything', async () => {
      const { clock, statuses } = await lose();
      await clock.advance(60_000);
      expect(statuses()).toEqual(['failed', 'failed']);
    });

    it('A5 nothing more once another node has told it about a repeat', async () => {
      const { clock, statuses, last } = await lose();
      last.value = 'delivered';
      await clock.advance(60_000);
      expect(statuses()).toEqual(['failed']);
    });

    it('A5 nothing more while the reports of other nodes cannot be read', async () => {
      const past = {
        sentStatuses: async () => undefined,
        lastStatus: async () => Promise.reject(new Error('down')),
        requestsOf: async () => Promise.reject(new Error('down')),
      };
      const { clock, statuses } = await lose({ past });
      await clock.advance(60_000);
      expect(statuses()).toEqual(['failed']);
    });

    it.each([true, 'unknown'] as const)(
      'A5 nothing more when a repeat may be under way at another node before that is in the journal: %s',
      async (later) => {
        let isFirst = true;
        const isUnderWayElsewhere = async () => (isFirst ? (isFirst = false) : later);
        const { clock, statuses } = await lose({ otherNodes: { ...OTHER_NODES, isUnderWayElsewhere } });
        await clock.advance(60_000);
        expect(statuses()).toEqual(['failed']);
      },
    );

    it('A5 nothing more once another node has accepted a repeat, which waits for the request in flight', async () => {
      const { put, sent, statuses } = heldCalls();
      const { reports, clock } = setUp(put, { otherNodes: OTHER_NODES });
      reports.rejected({ ...rejection, requestId: newRequestId() });
      await clock.advance(0);
      let isSettled = false;
      const settling = reports.endRejections(LOCATION, 'm1').then(() => (isSettled = true));
      await reports.endRejections(LOCATION, 'another message');
      expect(isSettled).toBe(false);
      sent[0]?.answer(HTTP);
      await settling;
      await clock.advance(60_000);
      expect(statuses()).toEqual(['failed']);
    });
  });

  describe('when not all other nodes can be asked about a rejected request', () => {
    const isUnderWayElsewhere = async () => 'unknown' as const;

    it.each([
      ['failed for the first request of a message', [], ['failed']],
      ['nothing for a repeat: the first one may be under way', ['first'], []],
    ])('A7 %s', async (_what, before, told) => {
      const { put, statuses } = heldCalls();
      const requestId = newRequestId();
      const requests = [...before, requestId].map((id) => ({ id }) as MessageTrail);
      const past = {
        sentStatuses: async () => undefined,
        lastStatus: async () => undefined,
        requestsOf: async () => requests,
      };
      const { reports, clock } = setUp(put, {
        otherNodes: { ...OTHER_NODES, isUnderWayElsewhere },
        past,
      });
      reports.rejected({ requestId, locationId: LOCATION, messageId: 'm1', code: 'X', message: 'x' });
      await clock.advance(0);
      expect(statuses()).toEqual(told);
    });
  });
});
