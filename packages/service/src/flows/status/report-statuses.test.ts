import type { MessageStatusFrame } from '@footbridge/protocol/frames';
import { asLocationId, newRequestId } from '@footbridge/protocol/ids';
import type { LocationId } from '@footbridge/protocol/ids';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { FakeClock } from '../../fake-clock.ts';
import type { StepName, Told } from '../../ports/journal/journal.ts';
import type { Lease } from '../../ports/switchboard/switchboard.ts';
import { createStatusReports } from './report-statuses.ts';
import type { StatusReports } from './report-statuses.ts';
import type { Patience, Setback, StatusCall, StatusOutcome } from './status-calls.ts';

const LOCATION = asLocationId('loc1') as LocationId;
const lease = (epoch = 1, locationId = LOCATION): Lease => ({
  locationId,
  deviceId: 'device-1',
  sessionId: `session-${epoch}`,
  epoch,
});
const TAKEN: StatusOutcome = { kind: 'ok' };
const SETBACK: Setback = {
  cause: 'http',
  status: 500,
  reason: 'oops',
  attempts: 1,
  sinceMs: 0,
  othersPass: false,
};
const TROUBLE: StatusOutcome = { kind: 'given_up', setback: SETBACK };

type Line = { tell(call: StatusCall, patience: Patience): Promise<StatusOutcome> };

interface House {
  clock: FakeClock;
  reports: StatusReports;
  logs: object[];
  steps: [string, StepName, unknown][];
  told: Map<string, Told>;
  currentEpoch: { value: number };
}

function house(calls: Line, more: { oauthReady?: boolean; otherNodes?: boolean } = {}): House {
  const clock = new FakeClock();
  const logs: object[] = [];
  const steps: House['steps'] = [];
  const told = new Map<string, Told>();
  const currentEpoch = { value: 1 };
  const say = (fields: object, message: string) => logs.push({ ...fields, message });
  const reports = createStatusReports({
    oauthReady: true,
    calls,
    journal: {
      open() {},
      step: (id, step, recorded) => void steps.push([id, step, recorded?.detail?.['status']]),
    },
    past: { told: async (requestId) => told.get(requestId) },
    isCurrent: ({ epoch }) => epoch === currentEpoch.value,
    clock,
    log: { debug: say, info: say, warn: say, error: say },
    failpoint: undefined,
    otherNodes: false,
    ...more,
  });
  return { clock, reports, logs, steps, told, currentEpoch };
}

/** A line to the CRM that answers each call when and how it is told to. */
function heldLine() {
  const waiting: { call: StatusCall; patience: Patience; answer: (outcome: StatusOutcome) => void }[] = [];
  return {
    waiting,
    calls: {
      tell: (call: StatusCall, patience: Patience) =>
        new Promise<StatusOutcome>((answer) => {
          // The first attempt goes out at once.
          patience.attempting?.();
          waiting.push({ call, patience, answer });
        }),
    },
    said: () => waiting.map(({ call }) => call.status),
  };
}

const frame = (
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
const publish = (reports: StatusReports, requestId: string, messageId: string | null = 'm1', by = lease()) =>
  reports.published({ requestId, locationId: by.locationId, messageId, lease: by });
const turn = () => new Promise((resolve) => setImmediate(resolve));

describe('what the CRM is told', () => {
  it('A2 pending at once, A3 then what the Mac says, verbatim', async () => {
    const calls: StatusCall[] = [];
    const { reports } = house({ tell: async (call) => (calls.push(call), TAKEN) });
    const [good, bad] = [newRequestId(), newRequestId()];
    publish(reports, good);
    publish(reports, bad, 'm2');
    expect(await reports.reported(lease(), frame(good))).toEqual({ outcome: 'delivered' });
    expect(await reports.reported(lease(), frame(bad, 'failed'))).toEqual({ outcome: 'delivered' });
    expect(calls.map(({ messageId, status, error }) => [messageId, status, error])).toEqual([
      ['m1', 'pending', undefined],
      ['m2', 'pending', undefined],
      ['m1', 'delivered', undefined],
      ['m2', 'failed', { code: 'TIMEOUT', message: 'The Mac waited too long.' }],
    ]);
  });

  it('A4 the terminal status waits for a pending that is on the wire', async () => {
    const { calls, waiting, said } = heldLine();
    const { reports } = house(calls);
    const id = newRequestId();
    publish(reports, id);
    const ack = reports.reported(lease(), frame(id));
    await turn();
    expect(said()).toEqual(['pending']);
    waiting[0]?.answer(TAKEN);
    await turn();
    expect(said()).toEqual(['pending', 'delivered']);
    waiting[1]?.answer(TAKEN);
    expect(await ack).toEqual({ outcome: 'delivered' });
  });

  it('A4 a pending that waits for its next try is given up when the terminal one is due', async () => {
    const { calls, waiting, said } = heldLine();
    const { reports } = house(calls);
    const id = newRequestId();
    publish(reports, id);
    await turn();
    let woken = false;
    waiting[0]?.patience.waiting(() => {
      woken = true;
    });
    expect(waiting[0]?.patience.wanted(false)).toBe(true);
    void reports.reported(lease(), frame(id));
    await turn();
    expect([woken, waiting[0]?.patience.wanted(false)]).toEqual([true, false]);
    waiting[0]?.answer({ kind: 'unwanted' });
    await turn();
    expect(said()).toEqual(['pending', 'delivered']);
  });

  it('A4 pending is tried a few times, a terminal status as long as it takes', async () => {
    const { calls, waiting } = heldLine();
    const { reports } = house(calls);
    const id = newRequestId();
    publish(reports, id);
    await turn();
    const pending = waiting[0]?.patience;
    void reports.reported(lease(), frame(id));
    waiting[0]?.answer({ kind: 'unwanted' });
    await turn();
    const terminal = waiting[1]?.patience;
    const late = { ...SETBACK, attempts: 500, sinceMs: 3_600_000 };
    expect([
      pending?.again({ ...SETBACK, attempts: 4 }),
      pending?.again({ ...SETBACK, attempts: 5 }),
    ]).toEqual([true, false]);
    for (const cause of ['circuit', 'crowded', 'reauth_required', 'token_refused', 'none'])
      expect(pending?.again({ ...SETBACK, cause })).toBe(false);
    for (const cause of ['http', 'network', 'timeout', 'circuit', 'crowded', 'away', 'reauth_required'])
      expect(terminal?.again({ ...late, cause })).toBe(true);
    expect(terminal?.again({ ...late, othersPass: true })).toBe(false);
    for (const patience of [pending, terminal]) {
      expect(patience?.again({ ...SETBACK, cause: 'not_yet', attempts: 5 })).toBe(true);
      expect(patience?.again({ ...SETBACK, cause: 'not_yet', attempts: 6 })).toBe(false);
    }
  });

  it('A5 what comes after a terminal status is acknowledged and dropped', async () => {
    const calls: string[] = [];
    const { reports } = house({ tell: async ({ status }) => (calls.push(status), TAKEN) });
    const id = newRequestId();
    publish(reports, id);
    await reports.reported(lease(), frame(id));
    expect(await reports.reported(lease(), frame(id, 'failed'))).toEqual({ outcome: 'delivered' });
    expect(await reports.reported(lease(), frame(id))).toEqual({ outcome: 'delivered' });
    expect(calls).toEqual(['pending', 'delivered']);
  });

  it('A6 nothing without OAuth, with one line per request', async () => {
    const { reports, logs } = house({ tell: () => expect.unreachable() }, { oauthReady: false });
    const ids = [newRequestId(), newRequestId()];
    for (const id of ids) {
      publish(reports, id);
      expect(await reports.reported(lease(), frame(id))).toEqual({ outcome: 'skipped' });
    }
    expect(logs).toEqual(
      ids.map((requestId) => expect.objectContaining({ requestId, reason: 'oauth_not_configured' })),
    );
  });

  it('A6 nothing without a message id or a token, and not a word about it', async () => {
    const none: StatusOutcome = { kind: 'given_up', setback: { ...SETBACK, cause: 'none' } };
    const { reports, logs, steps } = house({ tell: async () => none });
    const [anonymous, unauthorised] = [newRequestId(), newRequestId()];
    publish(reports, anonymous, null);
    publish(reports, unauthorised);
    expect(await reports.reported(lease(), frame(anonymous, 'delivered', null))).toEqual({
      outcome: 'skipped',
    });
    expect(await reports.reported(lease(), frame(unauthorised))).toEqual({ outcome: 'skipped' });
    expect(logs).toEqual([]);
    expect(steps.map(([, step]) => step)).toEqual(['mac_says', 'mac_says']);
  });

  it('A7 a rejected request fails, without anybody waiting', async () => {
    const calls: StatusCall[] = [];
    const { reports } = house({ tell: async (call) => (calls.push(call), TAKEN) });
    const rejected = {
      requestId: newRequestId(),
      locationId: LOCATION,
      code: 'CLIENT_NOT_CONNECTED',
      message: 'No Mac',
    };
    reports.rejected({ ...rejected, messageId: 'm1' });
    for (const messageId of [null, '..', '']) reports.rejected({ ...rejected, messageId });
    await turn();
    expect(calls).toEqual([
      {
        locationId: LOCATION,
        messageId: 'm1',
        status: 'failed',
        error: { code: 'CLIENT_NOT_CONNECTED', message: 'No Mac' },
      },
    ]);
  });

  it('A4 a repeated request is not overtaken by the refusal of the first one', async () => {
    const { calls, waiting, said } = heldLine();
    const { reports } = house(calls);
    reports.rejected({
      requestId: newRequestId(),
      locationId: LOCATION,
      messageId: 'm1',
      code: 'CLIENT_NOT_CONNECTED',
      message: 'No Mac',
    });
    await turn();
    publish(reports, newRequestId());
    await turn();
    expect(said()).toEqual(['failed']);
    expect(waiting[0]?.patience.wanted(false)).toBe(false);
    waiting[0]?.answer(TROUBLE);
    await turn();
    expect(said()).toEqual(['failed', 'pending']);
  });

  it('A4 a repeated request says nothing of pending while the fate of the first is being told', async () => {
    const { calls, waiting, said } = heldLine();
    const { reports } = house(calls);
    const [first, second] = [newRequestId(), newRequestId()];
    publish(reports, first);
    await turn();
    waiting[0]?.answer(TAKEN);
    await turn();
    const ack = reports.reported(lease(), frame(first));
    await turn();
    publish(reports, second);
    await turn();
    expect(said()).toEqual(['pending', 'delivered']);
    expect(waiting[1]?.patience.wanted(false)).toBe(true);
    waiting[1]?.answer(TAKEN);
    expect(await ack).toEqual({ outcome: 'delivered' });
  });
});

describe('what the Mac is answered', () => {
  it('A11 rejected when the CRM refused for good, with its reason', async () => {
    const { reports, logs } = house({
      tell: async ({ status }) =>
        status === 'pending' ? TAKEN : { kind: 'refused', status: 422, reason: 'No such message' },
    });
    const id = newRequestId();
    publish(reports, id);
    expect(await reports.reported(lease(), frame(id))).toEqual({
      outcome: 'rejected',
      reason: 'the CRM refused: 422 No such message',
    });
    expect(logs).toEqual([expect.objectContaining({ requestId: id, http: 422 })]);
  });

  it('A11 nothing while the CRM may still take it, and the newer line of the same Mac takes over', async () => {
    const { calls, waiting } = heldLine();
    const { reports, currentEpoch } = house(calls);
    const id = newRequestId();
    publish(reports, id, 'm1');
    await turn();
    waiting[0]?.answer(TAKEN);
    await turn();
    const first = reports.reported(lease(1), frame(id));
    await turn();
    currentEpoch.value = 2;
    expect(waiting[1]?.patience.wanted(false)).toBe(false);
    const second = reports.reported(lease(2), frame(id));
    await turn();
    expect(waiting[1]?.patience.wanted(false)).toBe(true);
    waiting[1]?.answer(TAKEN);
    expect(await Promise.all([first, second])).toEqual([{ outcome: 'delivered' }, { outcome: 'delivered' }]);
    expect(waiting).toHaveLength(2);
  });

  it('A11 retry when its line was displaced, and the next time it is told', async () => {
    const { calls, waiting } = heldLine();
    const { reports, currentEpoch } = house(calls);
    const id = newRequestId();
    publish(reports, id);
    await turn();
    waiting[0]?.answer(TAKEN);
    const first = reports.reported(lease(1), frame(id));
    await turn();
    waiting[1]?.answer({ kind: 'unwanted' });
    expect(await first).toBe('retry');
    currentEpoch.value = 2;
    const second = reports.reported(lease(2), frame(id));
    await turn();
    waiting[2]?.answer(TAKEN);
    expect(await second).toEqual({ outcome: 'delivered' });
  });

  it('rejected for a request of another location, and nothing is sent', async () => {
    const { reports, told } = house({ tell: async () => TAKEN });
    const [mine, past] = [newRequestId(), newRequestId()];
    publish(reports, mine);
    told.set(past, { locationId: 'loc1', messageId: 'm1', statuses: [] });
    const other = lease(1, asLocationId('loc2'));
    for (const id of [mine, past])
      expect(await reports.reported(other, frame(id))).toMatchObject({ outcome: 'rejected' });
  });
});

describe('after a restart', () => {
  const known = (statuses: string[]): Told => ({ locationId: LOCATION, messageId: 'm1', statuses });

  it('A5 what was told is not told again', async () => {
    const { reports, told } = house({ tell: () => expect.unreachable() });
    const id = newRequestId();
    told.set(id, known(['pending', 'delivered']));
    expect(await reports.reported(lease(), frame(id))).toEqual({ outcome: 'delivered' });
  });

  it('A4 waits as long as a pending of the former life may be on the wire', async () => {
    const calls: string[] = [];
    const { reports, clock } = house({ tell: async ({ status }) => (calls.push(status), TAKEN) });
    const id = newRequestId(clock.now() - 3000);
    const ack = reports.reported(lease(), frame(id));
    await clock.advance(10_900);
    expect(calls).toEqual([]);
    await clock.advance(200);
    expect(await ack).toEqual({ outcome: 'delivered' });
    expect(calls).toEqual(['delivered']);
  });

  it('A4 does not wait when pending was answered, or is long over', async () => {
    const { reports, clock, told } = house({ tell: async () => TAKEN });
    const answered = newRequestId(clock.now() - 3000);
    told.set(answered, known(['pending']));
    expect(await reports.reported(lease(), frame(answered))).toEqual({ outcome: 'delivered' });
    const old = newRequestId(clock.now() - 3_600_000);
    expect(await reports.reported(lease(), frame(old))).toEqual({ outcome: 'delivered' });
  });

  it('asks once however often the Mac repeats itself', async () => {
    const calls: string[] = [];
    const { reports, clock } = house({ tell: async ({ status }) => (calls.push(status), TAKEN) });
    const id = newRequestId(clock.now());
    const acks = [1, 2, 3].map(() => reports.reported(lease(), frame(id)));
    await clock.advance(12_000);
    expect(await Promise.all(acks)).toEqual([1, 2, 3].map(() => ({ outcome: 'delivered' })));
    expect(calls).toEqual(['delivered']);
  });

  it('believes the journal more than the Mac about the message id, and nobody about an id that is none', async () => {
    const calls: StatusCall[] = [];
    const { reports, told } = house({ tell: async (call) => (calls.push(call), TAKEN) });
    const id = newRequestId();
    told.set(id, known(['pending']));
    await reports.reported(lease(), frame(id, 'delivered', 'another'));
    expect(calls.map(({ messageId }) => messageId)).toEqual(['m1']);
    expect(await reports.reported(lease(), frame('made up'))).toMatchObject({ outcome: 'rejected' });
  });
});

describe('closing', () => {
  it('lets what is on the wire be answered and leaves the rest to the Mac', async () => {
    const { calls, waiting } = heldLine();
    const { reports } = house(calls);
    const id = newRequestId();
    publish(reports, id);
    const ack = reports.reported(lease(), frame(id));
    await turn();
    let closed = false;
    const closing = reports.close().then(() => (closed = true));
    await turn();
    expect(closed).toBe(false);
    waiting[0]?.answer(TAKEN);
    await turn();
    expect(waiting[1]?.patience.wanted(false)).toBe(false);
    waiting[1]?.answer({ kind: 'unwanted' });
    expect(await ack).toBe('retry');
    await closing;
  });
});

describe('memory', () => {
  it('stays flat however many messages pass', async () => {
    const { reports, steps } = house({ tell: async () => TAKEN });
    const pass = async (count: number) => {
      for (let index = 0; index < count; index++) {
        const id = newRequestId();
        publish(reports, id, `m${index}`);
        await reports.reported(lease(), frame(id, 'delivered', `m${index}`));
      }
      steps.length = 0;
      return process.memoryUsage().heapUsed;
    };
    await pass(41_000);
    const early = await pass(1000);
    const late = await pass(20_000);
    expect(late - early).toBeLessThan(15_000_000);
  });
});

/**
 * The real lanes and patience against a CRM whose requests arrive late, get lost, are refused or answered slowly, in every order the
 * scheduler can find, while the Mac repeats itself, comes back on a new line, and the CRM repeats its webhook.
 */
describe('in whatever order things happen', () => {
  it('A4 the CRM sees nothing, P, P·D, P·F, D or F of each request on arrival', async () => {
    const status = fc.constantFrom('delivered' as const, 'failed' as const);
    await fc.assert(
      fc.asyncProperty(
        fc.scheduler(),
        fc.array(fc.record({ reports: fc.array(status, { maxLength: 3 }), troubles: fc.array(fc.nat(3)) }), {
          minLength: 1,
          maxLength: 4,
        }),
        async (scheduler, messages) => {
          const arrivals = new Map<string, string[]>();
          const troubles = new Map(messages.map(({ troubles: some }, index) => [`m${index}`, [...some]]));
          const crm: Line = {
            async tell(call, patience) {
              for (let attempts = 1; ; attempts++) {
                if (!patience.wanted(false)) return { kind: 'unwanted' };
                patience.attempting?.();
                await scheduler.schedule(Promise.resolve(), `${call.status} travels`);
                const seen = arrivals.get(call.messageId) ?? [];
                arrivals.set(call.messageId, seen);
                const trouble = troubles.get(call.messageId)?.shift() ?? 0;
                // 1 is lost on the way there, 2 on the way back, 3 is refused for now.
                if (trouble !== 1) seen.push(call.status);
                await scheduler.schedule(Promise.resolve(), `${call.status} is answered`);
                if (trouble === 0) return TAKEN;
                const setback = { ...SETBACK, attempts, cause: trouble === 3 ? 'not_yet' : 'timeout' };
                if (!patience.wanted(false)) return { kind: 'unwanted' };
                if (!patience.again(setback)) return { kind: 'given_up', setback };
                const woken = new Promise<void>((resolve) => patience.waiting(resolve));
                await Promise.race([woken, scheduler.schedule(Promise.resolve(), `${call.status} waits`)]);
              }
            },
          };
          const { reports } = house(crm);
          const acks = messages.flatMap(({ reports: said }, index) => {
            const id = newRequestId();
            publish(reports, id, `m${index}`);
            return said.map(async (what) => {
              await scheduler.schedule(Promise.resolve(), `the Mac says ${what}`);
              return reports.reported(lease(), frame(id, what, `m${index}`));
            });
          });
          await scheduler.waitIdle();
          await Promise.all(acks);
          for (const [messageId, seen] of arrivals) {
            // Retries of the same status are one status.
            const distinct = seen.filter((one, index) => one !== seen[index - 1]).join(' ');
            expect(
              ['pending', 'pending delivered', 'pending failed', 'delivered', 'failed'],
              messageId,
            ).toContain(distinct);
          }
          for (const [index, { reports: said }] of messages.entries())
            if (said.length > 0) expect(arrivals.get(`m${index}`)?.at(-1)).not.toBe('pending');
        },
      ),
      { numRuns: 150 },
    );
  });
});
