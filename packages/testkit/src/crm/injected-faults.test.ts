import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { startCrm } from '../crm.ts';
import type { Crm, Fault } from '../crm.ts';
import { createCleanup } from '../cleanup.ts';
import { until } from '../until.ts';
import { request } from './test-client.ts';

const cleanup = createCleanup();
let crm: Crm;
let token = '';
let contactId = '';

beforeEach(async () => {
  crm = await startCrm();
  cleanup.add(() => crm.stop());
  token = crm.token('LocA').access_token;
  contactId = crm.addContact({ locationId: 'LocA' }).id;
});
afterEach(() => cleanup.run());

const inbound = (signal?: AbortSignal) =>
  fetch(`${crm.url}/conversations/messages/inbound`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${token}`, Version: '2021-07-28', 'Content-Type': 'application/json' },
    body: JSON.stringify({ type: 'SMS', contactId, message: 'x' }),
    ...(signal ? { signal } : {}),
  });
const inject = (how: Fault, times = 1) => crm.injectFault({ match: 'inbound', times, how });
const eventually = (condition: () => boolean) => until(condition, { every: 2 });
const status = (id: string, value: string) =>
  request(crm, `PUT /conversations/messages/${id}/status`, { token, body: { status: value } });

describe('injected faults', () => {
  it('affect the given number of matching calls, after the skipped ones', async () => {
    const fault = crm.injectFault({ match: 'inbound', after: 1, times: 2, how: { status: 500 } });
    const statuses: number[] = [];
    for (let i = 0; i < 4; i++) statuses.push((await inbound()).status);
    expect(statuses).toEqual([201, 500, 500, 201]);
    expect(fault.hits).toBe(2);
    expect(crm.calls.map((call) => call.status)).toEqual(statuses);
    expect(crm.calls[1]?.fault).toEqual({ status: 500 });
  });

  it.each([
    { match: '*', hit: true },
    { match: 'POST /conversations/messages/inbound', hit: true },
    { match: 'POST /conversations/*', hit: true },
    { match: 'GET /conversations/*', hit: false },
    { match: 'status', hit: false },
  ])('match $match: $hit', async ({ match, hit }) => {
    crm.injectFault({ match, how: { status: 500 } });
    expect((await inbound()).status).toBe(hit ? 500 : 201);
  });

  it('can be limited to one location and can be removed', async () => {
    crm.injectFault({ match: 'inbound', locationId: 'LocB', times: Infinity, how: { status: 500 } });
    const fault = crm.injectFault({
      match: 'inbound',
      locationId: 'LocA',
      times: Infinity,
      how: { status: 503 },
    });
    expect((await inbound()).status).toBe(503);
    fault.stop();
    expect((await inbound()).status).toBe(201);
    inject({ status: 500 });
    crm.clearFaults();
    expect((await inbound()).status).toBe(201);
  });
});

describe('each fault', () => {
  it('status responds with the given status, headers and body and stores nothing', async () => {
    inject({ status: 429, retryAfter: 7, headers: { 'X-Odd': '1' }, body: { why: 'because' } });
    const answer = await inbound();
    expect(answer.status).toBe(429);
    expect(answer.headers.get('retry-after')).toBe('7');
    expect(answer.headers.get('x-odd')).toBe('1');
    expect(await answer.json()).toEqual({ why: 'because' });
    expect(crm.messages).toHaveLength(0);
  });

  it('status with stored stores the message and responds with an error', async () => {
    inject({ status: 500, stored: true });
    expect((await inbound()).status).toBe(500);
    expect(crm.messages).toHaveLength(1);
  });

  it('hang never responds and stores nothing', async () => {
    inject('hang');
    await expect(inbound(AbortSignal.timeout(500))).rejects.toThrow('timeout');
    expect(crm.messages).toHaveLength(0);
    expect(crm.calls[0]).not.toHaveProperty('status');
  });

  it('dropAnswer stores the message and closes the connection', async () => {
    inject('dropAnswer');
    await expect(inbound()).rejects.toThrow('fetch failed');
    expect(crm.messages).toHaveLength(1);
    expect(crm.calls[0]).not.toHaveProperty('answeredAt');
  });

  it('reset closes the connection before reading the body', async () => {
    inject('reset');
    await expect(inbound()).rejects.toMatchObject({
      cause: { code: expect.stringMatching(/ECONNRESET|UND_ERR_SOCKET/) },
    });
    expect(crm.calls[0]?.body).toBeUndefined();
    expect(crm.messages).toHaveLength(0);
  });

  it('emptyBody responds with 201 and an empty body and stores nothing', async () => {
    inject('emptyBody');
    const answer = await inbound();
    expect(answer.status).toBe(201);
    expect(await answer.text()).toBe('');
    expect(crm.messages).toHaveLength(0);
  });

  it('expireToken rejects the token from this call on', async () => {
    inject('expireToken');
    expect((await inbound()).status).toBe(401);
    expect((await inbound()).status).toBe(401);
    token = crm.token('LocA').access_token;
    expect((await inbound()).status).toBe(201);
  });

  it('delayMs delays the handling of the request, answerDelayMs the response', async () => {
    inject({ delayMs: 200 });
    await inbound();
    inject({ answerDelayMs: 200 });
    expect((await inbound()).status).toBe(201);
    const [late, lateAnswer] = crm.calls;
    const [stored, storedAtOnce] = crm.messages;
    expect((stored?.at ?? 0) - (late?.at ?? 0)).toBeGreaterThanOrEqual(190);
    expect((lateAnswer?.answeredAt ?? 0) - (storedAtOnce?.at ?? 0)).toBeGreaterThanOrEqual(190);
  });

  it('slowBodyMs sends the headers at once and the body slowly', async () => {
    inject({ slowBodyMs: 500 });
    const started = performance.now();
    const answer = await inbound();
    const body = answer.json();
    const aMoment = new Promise((resolve) => setTimeout(resolve, 20, 'not there yet'));
    expect(await Promise.race([body, aMoment])).toBe('not there yet');
    expect(await body).toMatchObject({ success: true });
    expect(performance.now() - started).toBeGreaterThan(430);
  });
});

describe('the recorded statuses', () => {
  it('are in order of arrival and know their order of acceptance', async () => {
    crm.injectFault({ match: 'status', how: { delayMs: 1_000 } });
    const pending = status('m1', 'pending');
    await eventually(() => crm.statuses.length === 1);
    await Promise.all([pending, status('m1', 'delivered')]);
    expect(crm.statusesOf('m1').map((call) => call.status)).toEqual(['pending', 'delivered']);
    expect(crm.accepted('m1')).toEqual(['delivered', 'pending']);
  });

  it('include rejected ones', async () => {
    crm.injectFault({ match: 'status', how: { status: 500 } });
    await status('m1', 'pending');
    await status('m1', 'pending');
    expect(crm.statusesOf('m1').map((call) => call.accepted)).toEqual([false, true]);
    expect(crm.accepted('m1')).toEqual(['pending']);
  });

  it('are cleared by forget', async () => {
    await status('m1', 'pending');
    await inbound();
    crm.forget();
    expect([crm.calls, crm.messages, crm.statuses].map((list) => list.length)).toEqual([0, 0, 0]);
  });
});
