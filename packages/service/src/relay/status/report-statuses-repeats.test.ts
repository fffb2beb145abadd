import { asLocationId, newRequestId } from '@footbridge/protocol/ids';
import { describe, expect, it } from 'vitest';

import { CANCELLED, failed, succeeded } from '../../platform/retry/retry.ts';
import type { Attempt, FailedAttempt } from '../../platform/retry/retry.ts';
import {
  HTTP,
  LOCATION,
  OK,
  OTHER_NODES,
  SETTLE_MS,
  frame,
  heldCalls,
  lease,
  openCalls,
  publish,
  setUp,
  tick,
} from './report-statuses.fixture.ts';
import type { ShownStatus, StatusCalls, StatusUpdate } from './status-calls.ts';

const TIMEOUT = failed('timeout', { inDoubt: true });

describe('a repeated request', () => {
  const said = (updates: readonly StatusUpdate[]) => updates.map(({ status }) => status);

  it('A5 shares the statuses of the first one while that is under way, and both reports are acknowledged', async () => {
    const { put, updates } = openCalls();
    const { reports, steps } = setUp(put);
    const ids = [newRequestId(), newRequestId()];
    for (const id of ids) publish(reports, id);
    await tick();
    for (const id of ids)
      expect(await reports.reported(lease(), frame(id))).toEqual({ outcome: 'delivered' });
    expect(said(updates)).toEqual(['pending', 'delivered']);
    expect(steps.filter(([, step]) => step === 'mac_reported').map(([id]) => id)).toEqual(ids);
  });

  it('A5 a repeat is a new attempt while the failure of the first one is still being delivered', async () => {
    const { put, sent, statuses } = heldCalls();
    const { reports } = setUp(put);
    const [first, second] = [newRequestId(), newRequestId()];
    publish(reports, first);
    await tick();
    sent[0]?.answer(OK);
    await tick();
    const firstAck = reports.reported(lease(), frame(first, 'failed'));
    await tick();
    publish(reports, second);
    await tick();
    expect(statuses()).toEqual(['pending', 'failed']);
    sent[1]?.answer(OK);
    expect(await firstAck).toEqual({ outcome: 'delivered' });
    await tick();
    expect(statuses()).toEqual(['pending', 'failed', 'pending']);
    sent[2]?.answer(OK);
    const delivered = reports.reported(lease(), frame(second));
    await tick();
    sent[3]?.answer(OK);
    expect(await delivered).toEqual({ outcome: 'delivered' });
    expect(statuses()).toEqual(['pending', 'failed', 'pending', 'delivered']);
  });

  it('A5 a repeat that shared a failed attempt and succeeded is reported as delivered', async () => {
    const { put, updates } = openCalls();
    const { reports } = setUp(put);
    const [first, second] = [newRequestId(), newRequestId()];
    publish(reports, first);
    publish(reports, second);
    await reports.reported(lease(), frame(first, 'failed'));
    await reports.reported(lease(), frame(second));
    await reports.reported(lease(), frame(first));
    expect(said(updates)).toEqual(['pending', 'failed', 'pending', 'delivered']);
  });

  it.each(['one after the other', 'at the same time'])(
    'A5 that succeeds after the attempt it shared has failed joins the attempt of a later request: reported %s',
    async (how) => {
      const { put, updates } = openCalls();
      const { reports } = setUp(put);
      const [first, second, third] = [newRequestId(), newRequestId(), newRequestId()];
      publish(reports, first);
      publish(reports, second);
      await reports.reported(lease(), frame(first, 'failed'));
      publish(reports, third);
      const report = async (id: string) =>
        expect(await reports.reported(lease(), frame(id))).toEqual({ outcome: 'delivered' });
      if (how === 'at the same time') await Promise.all([second, third].map(report));
      else for (const id of [second, third]) await report(id);
      expect(said(updates)).toEqual(['pending', 'failed', 'pending', 'delivered']);
    },
  );

  it('A5 a repeat that succeeds after two failed attempts shares its own attempt with another that succeeds', async () => {
    const { put, updates } = openCalls();
    const { reports } = setUp(put);
    const [first, second, third, fourth] = [newRequestId(), newRequestId(), newRequestId(), newRequestId()];
    for (const id of [first, second, third]) publish(reports, id);
    await reports.reported(lease(), frame(first, 'failed'));
    publish(reports, fourth);
    await reports.reported(lease(), frame(fourth, 'failed'));
    for (const id of [second, third]) await reports.reported(lease(), frame(id));
    expect(said(updates)).toEqual(['pending', 'failed', 'pending', 'failed', 'pending', 'delivered']);
  });

  it('A5 a repeat that fails too, while its pending is still queued, is reported as failed again', async () => {
    const { put, updates } = openCalls();
    const { reports } = setUp(put);
    const [first, second] = [newRequestId(), newRequestId()];
    publish(reports, first);
    await reports.reported(lease(), frame(first, 'failed'));
    publish(reports, second);
    expect(await reports.reported(lease(), frame(second, 'failed'))).toEqual({ outcome: 'delivered' });
    expect(said(updates)).toEqual(['pending', 'failed', 'pending', 'failed']);
  });

  it.each([
    ['before', ['first', 'second', 'third']],
    ['after', ['second', 'third', 'first']],
  ] as const)(
    'A5 that succeeds is reported once when the Mac reports an earlier failure again %s it',
    async (_when, order) => {
      const { put, sent, statuses } = heldCalls();
      const { reports, clock, currentEpoch } = setUp(put);
      const ids = { first: newRequestId(), second: newRequestId(), third: newRequestId() };
      publish(reports, ids.first);
      publish(reports, ids.second);
      await tick();
      sent[0]?.answer(OK);
      await tick();
      const lost = reports.reported(lease(), frame(ids.first, 'failed'));
      await tick();
      sent[1]?.answer(HTTP);
      await tick();
      publish(reports, ids.third);
      currentEpoch.value = 2;
      await clock.advance(1000);
      expect(await lost).toBe('retry');
      sent[2]?.answer(OK);
      const acks = order.map((name) =>
        reports.reported(lease(2), frame(ids[name], name === 'first' ? 'failed' : 'delivered')),
      );
      await tick();
      sent[3]?.answer(OK);
      await tick();
      expect(statuses()).toEqual(['pending', 'failed', 'pending', 'delivered']);
      expect(await Promise.all(acks)).not.toContain('retry');
    },
  );

  it('A5 a repeat with another text, which the Mac rejects, does not end the message that is under way', async () => {
    const { put, updates } = openCalls();
    const { reports } = setUp(put);
    const [first, second] = [newRequestId(), newRequestId()];
    publish(reports, first);
    publish(reports, second);
    const error = { code: 'INVALID_FRAME', message: 'This messageId was used for another message.' };
    const rejected = { ...frame(second, 'failed'), error };
    expect(await reports.reported(lease(), rejected)).toEqual({ outcome: 'skipped' });
    expect(await reports.reported(lease(), frame(first))).toEqual({ outcome: 'delivered' });
    expect(await reports.reported(lease(), rejected)).toEqual({ outcome: 'delivered' });
    expect(said(updates)).toEqual(['pending', 'delivered']);
  });

  it.each([
    ['delivered', []],
    ['pending', ['delivered']],
    ['failed', ['pending', 'delivered']],
    [undefined, ['pending', 'delivered']],
  ] as const)(
    'A5 of a message whose last status was %s in an earlier run gets %j',
    async (before, expected) => {
      const { put, updates } = openCalls();
      const { reports, last } = setUp(put);
      last.value = before;
      const id = newRequestId();
      publish(reports, id);
      expect(await reports.reported(lease(), frame(id))).toEqual({ outcome: 'delivered' });
      expect(said(updates)).toEqual(expected);
    },
  );

  it('A5 a repeat is checked against the reports of other nodes when the Mac has been elsewhere', async () => {
    const { put, updates } = openCalls();
    const { reports, last, currentEpoch } = setUp(put, { otherNodes: OTHER_NODES });
    const [first, second, third] = [newRequestId(), newRequestId(), newRequestId()];
    publish(reports, first);
    await tick();
    last.value = 'delivered';
    currentEpoch.value = 3;
    publish(reports, second, 'm1', lease(3));
    for (const id of [second, first])
      expect(await reports.reported(lease(3), frame(id))).toEqual({ outcome: 'delivered' });
    reports.rejected({ requestId: third, locationId: LOCATION, messageId: 'm1', code: 'X', message: 'x' });
    await tick();
    expect(said(updates)).toEqual(['pending']);
  });

  it.each(['pending', 'delivered'] as const)(
    'A5 waits until the former owner has recorded that the CRM was told %s',
    async (told) => {
      const { put, updates } = openCalls();
      const { promise, resolve } = Promise.withResolvers<number>();
      const callsEnded = () => promise;
      const { reports, last } = setUp(put, { otherNodes: { ...OTHER_NODES, callsEnded } });
      publish(reports, newRequestId());
      await tick();
      expect(updates).toEqual([]);
      last.value = told;
      resolve(0);
      await tick();
      expect(updates).toEqual([]);
      publish(reports, newRequestId(), 'm2');
      await tick();
      expect(updates).toEqual([]);
      last.value = undefined;
      publish(reports, newRequestId(), 'm3');
      await tick();
      expect(said(updates)).toEqual(['pending']);
    },
  );

  it.each([
    ['here', 'pending', undefined],
    ['elsewhere', 'pending', 'pending'],
    ['elsewhere', 'delivered', 'delivered'],
  ] as const)(
    'A5 is not told again what is known %s before it is in the journal: %s',
    async (where, _told, elsewhere) => {
      const { put, updates } = openCalls();
      const statusElsewhere = async () =>
        elsewhere && ({ status: elsewhere, isUnderWay: true, epoch: 2 } as const);
      const { reports, currentEpoch } = setUp(put, { otherNodes: { ...OTHER_NODES, statusElsewhere } });
      if (where === 'here') publish(reports, newRequestId());
      await tick();
      currentEpoch.value = 3;
      publish(reports, newRequestId(), 'm1', lease(3));
      await tick();
      expect(said(updates)).toEqual(where === 'here' ? ['pending'] : []);
    },
  );

  it('A5 a rejected repeat reports nothing about a message that another node is sending', async () => {
    const { put, updates } = openCalls();
    const asked: string[] = [];
    const isUnderWayElsewhere = async (...message: unknown[]) => asked.push(message.join(' ')) === 1;
    const fenced: StatusCalls['put'] = async (update, guard) =>
      (await guard.fence?.()) === true ? put(update) : CANCELLED;
    const { reports, clock } = setUp(fenced, { otherNodes: { ...OTHER_NODES, isUnderWayElsewhere } });
    const rejected = { locationId: LOCATION, messageId: 'm1', code: 'X', message: 'x' };
    reports.rejected({ ...rejected, requestId: newRequestId() });
    await clock.advance(0);
    expect([asked, updates]).toEqual([[`${LOCATION} m1`], []]);
    reports.rejected({ ...rejected, messageId: 'm2', requestId: newRequestId() });
    await clock.advance(0);
    expect(said(updates)).toEqual(['failed']);
  });

  it.each(['pending', 'written', 'uncertain'] as const)(
    'A5 that is rejected says nothing about a message that an earlier run is or may be sending: %s',
    async (before) => {
      const { put, updates } = openCalls();
      const { reports, last } = setUp(put);
      last.value = before;
      const rejected = { locationId: LOCATION, messageId: 'm1', code: 'X', message: 'x' };
      for (const requestId of [newRequestId(), newRequestId()]) reports.rejected({ ...rejected, requestId });
      await tick();
      const id = newRequestId();
      publish(reports, id);
      await reports.reported(lease(), frame(id));
      expect(said(updates)).toEqual(before === 'pending' ? ['delivered'] : ['pending', 'delivered']);
    },
  );

  it('A4 a status of a former owner ends with the response to its call, and is not retried', async () => {
    const { put, sent, statuses } = heldCalls();
    const { reports, clock } = setUp(put, { otherNodes: OTHER_NODES });
    publish(reports, newRequestId());
    publish(reports, newRequestId(), 'm2');
    publish(reports, newRequestId(), 'm3', lease(1, asLocationId('loc2')));
    await tick();
    let isSettled = false;
    const ending = reports.endCalls(LOCATION).then(() => (isSettled = true));
    sent[0]?.answer(OK);
    await tick();
    expect(isSettled).toBe(false);
    sent[1]?.answer(HTTP);
    await ending;
    await clock.advance(60_000);
    expect(statuses()).toEqual(['pending', 'pending', 'pending']);
    expect(await Promise.all(['m1', 'm2', 'm4'].map((id) => reports.statusOf(LOCATION, id)))).toEqual([
      { status: 'pending', isUnderWay: true, epoch: 1 },
      { status: 'none', isUnderWay: true, epoch: 1 },
      undefined,
    ]);
  });

  /** The Mac reports the outcome while the CRM has not responded to `pending`. */
  async function reportedDuringPending() {
    const { put, sent, statuses } = heldCalls();
    const { reports, clock } = setUp(put);
    const id = newRequestId();
    publish(reports, id);
    await tick();
    return { sent, statuses, reports, clock, ack: reports.reported(lease(), frame(id)) };
  }

  it.each<[string, FailedAttempt]>([
    ['timed out', TIMEOUT],
    ['got 408', failed('http', { status: 408, inDoubt: true })],
    ['got 502', failed('http', { status: 502, inDoubt: true })],
    ['got 504', failed('http', { status: 504, inDoubt: true })],
  ])('A4 holds the terminal status until a pending that %s can no longer arrive', async (_how, lost) => {
    const { sent, statuses, clock, ack } = await reportedDuringPending();
    sent[0]?.answer(lost);
    await clock.advance(SETTLE_MS - 1);
    expect(statuses()).toEqual(['pending']);
    await clock.advance(1);
    expect(statuses()).toEqual(['pending', 'delivered']);
    sent[1]?.answer(OK);
    expect(await ack).toEqual({ outcome: 'delivered' });
  });

  it.each([
    [502, 'delivered'],
    [504, 'failed'],
  ] as const)('A5 after a failed that got %i has its own pending, and then %s', async (status, outcome) => {
    const { put, sent, statuses } = heldCalls();
    const { reports, clock } = setUp(put);
    const [first, second] = [newRequestId(), newRequestId()];
    const answer = async (result: Attempt<undefined>) => {
      sent.at(-1)?.answer(result);
      await tick();
    };
    publish(reports, first);
    await tick();
    await answer(OK);
    void reports.reported(lease(), frame(first, 'failed'));
    await tick();
    await answer(failed('http', { status, inDoubt: true }));
    await clock.advance(1000);
    await answer(OK);
    publish(reports, second);
    await tick();
    const ack = reports.reported(lease(), frame(second, outcome));
    await clock.advance(SETTLE_MS - 2000);
    expect(statuses()).toEqual(['pending', 'failed', 'failed']);
    await clock.advance(2000);
    await answer(OK);
    await answer(OK);
    expect(await ack).toEqual({ outcome: 'delivered' });
    expect(statuses()).toEqual(['pending', 'failed', 'failed', 'pending', outcome]);
  });

  it('A4 sends the terminal status at once when the CRM responded to every pending', async () => {
    const { sent, statuses, clock, ack } = await reportedDuringPending();
    sent[0]?.answer(HTTP);
    await clock.advance(0);
    expect(statuses()).toEqual(['pending', 'delivered']);
    sent[1]?.answer(OK);
    await ack;
  });

  it('A4 sends no terminal status if the node stops while a pending that timed out may arrive', async () => {
    const { sent, statuses, reports, ack } = await reportedDuringPending();
    sent[0]?.answer(TIMEOUT);
    await tick();
    await reports.close();
    expect(await ack).toBe('retry');
    expect(statuses()).toEqual(['pending']);
  });

  it('A4 reports to the next owner how long a pending that timed out may still arrive', async () => {
    const { put, sent } = heldCalls();
    const { reports, clock } = setUp(put, { otherNodes: OTHER_NODES });
    publish(reports, newRequestId());
    await tick();
    const ending = reports.endCalls(LOCATION);
    sent[0]?.answer(TIMEOUT);
    expect(await ending).toBe(SETTLE_MS);
    await clock.advance(5000);
    expect(await reports.endCalls(LOCATION)).toBe(SETTLE_MS - 5000);
    expect(await reports.endCalls(asLocationId('loc2') ?? '')).toBe(0);
    await clock.advance(SETTLE_MS);
    expect(await reports.endCalls(LOCATION)).toBe(0);
  });

  it.each([
    ['comes back to this node', 3],
    ['comes back before that', 2],
  ])(
    'A4 whose pending was not sent for lack of the location is pending first when the Mac %s',
    async (_when, epoch) => {
      const { put, updates } = openCalls();
      const { promise, resolve } = Promise.withResolvers<number>();
      let isFirst = true;
      const callsEnded = () => (isFirst ? promise : Promise.resolve(0));
      const fenced: StatusCalls['put'] = async (update, guard) =>
        (await guard.fence?.()) === true ? put(update) : CANCELLED;
      const { reports, currentEpoch } = setUp(fenced, { otherNodes: { ...OTHER_NODES, callsEnded } });
      const id = newRequestId();
      publish(reports, id);
      isFirst = false;
      currentEpoch.value = epoch;
      if (epoch === 3) resolve(0);
      await tick();
      const reporting = reports.reported(lease(epoch), frame(id));
      resolve(0);
      expect(await reporting).toEqual({ outcome: 'delivered' });
      expect(said(updates)).toEqual(['pending', 'delivered']);
    },
  );

  it('A4 a repeat that the former owner could not report is pending first, without a delay', async () => {
    const { put, updates } = openCalls();
    const otherNodes = { ...OTHER_NODES, callsEnded: async () => 0 };
    const { reports, told } = setUp(put, { otherNodes });
    const [unreported, reported] = [newRequestId(), newRequestId()];
    told.set(unreported, { locationId: LOCATION, messageId: 'm1', statuses: [] });
    told.set(reported, { locationId: LOCATION, messageId: 'm2', statuses: ['pending'] });
    for (const id of [unreported, reported])
      expect(await reports.reported(lease(), frame(id))).toEqual({ outcome: 'delivered' });
    expect(said(updates)).toEqual(['pending', 'delivered', 'delivered']);
  });

  it.each([
    ['the journal cannot be read', undefined],
    ['a node that did not respond may have written it before', 'uncertain'],
    ['the journal has only that it was written before', 'written'],
    ['the journal has only a rejected request of it', 'repeated'],
  ] as const)('A5 adds no status that the CRM has already when %s', async (_why, value) => {
    const { put, updates } = openCalls();
    const lastStatus = async () => value ?? Promise.reject(new Error('no database'));
    const past = { sentStatuses: async () => undefined, lastStatus, requestsOf: async () => [] };
    const shown = new Map<string, ShownStatus>([
      ['m1', 'delivered'],
      ['m2', 'pending'],
      ['m3', 'none'],
    ]);
    const read: StatusCalls['read'] = async (_location, messageId) =>
      succeeded(shown.get(messageId) ?? 'absent');
    const { reports } = setUp(put, { past }, read);
    for (const messageId of shown.keys()) {
      const id = newRequestId();
      publish(reports, id, messageId);
      await reports.reported(lease(), frame(id, 'delivered', messageId));
    }
    expect(updates.map(({ messageId, status }) => `${messageId} ${status}`)).toEqual([
      'm2 delivered',
      'm3 pending',
      'm3 delivered',
    ]);
  });

  it.each<[ShownStatus, string[]]>([
    ['delivered', []],
    ['failed', ['pending', 'delivered']],
    ['pending', ['pending', 'delivered']],
  ])('A5 after failed is reported as a new attempt unless the CRM shows %s: %j', async (shown, statuses) => {
    const { put, updates } = openCalls();
    const { reports, last } = setUp(put, {}, async () => succeeded(shown));
    last.value = 'failed';
    const id = newRequestId();
    publish(reports, id);
    await reports.reported(lease(), frame(id));
    expect(said(updates)).toEqual(statuses);
  });

  it('A5 a rejected repeat is not reported when the CRM shows delivered', async () => {
    const { put, updates } = openCalls();
    const { reports, last } = setUp(put, {}, async () => succeeded('delivered'));
    last.value = 'repeated';
    reports.rejected({
      requestId: newRequestId(),
      locationId: LOCATION,
      messageId: 'm1',
      code: 'X',
      message: 'x',
    });
    await tick();
    expect(updates).toEqual([]);
  });

  it('A8 a repeat is reported even when the journal cannot be read', async () => {
    const { put, updates } = openCalls();
    const { reports, logs } = setUp(put, {
      past: {
        sentStatuses: async () => undefined,
        lastStatus: async () => Promise.reject(new Error('no database')),
        requestsOf: async () => Promise.reject(new Error('no database')),
      },
    });
    const id = newRequestId();
    publish(reports, id);
    await reports.reported(lease(), frame(id));
    expect(said(updates)).toEqual(['pending', 'delivered']);
    expect(logs).toEqual([expect.objectContaining({ event: 'status.journal_unavailable' })]);
  });
});
