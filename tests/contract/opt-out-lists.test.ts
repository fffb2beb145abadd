import { describe, expect, it } from 'vitest';

import { GOOD, LOCATION, OTHER_LOCATION, PHONE, bridges, bridgesWithMac } from './test-bridge.ts';
import type { Json, TestBridge } from './test-bridge.ts';

const startWithMac = bridgesWithMac();
const start = bridges();
const OF_LOCATION = `/operator/locations/${LOCATION}/opt-outs`;

const decide = (bridge: TestBridge, phone: string, optedOut: boolean) =>
  bridge.operator('PUT', OF_LOCATION, { phone, optedOut });
const importInto = (bridge: TestBridge, body: object, locationId = LOCATION) =>
  bridge.operator('POST', `/operator/locations/${locationId}/opt-outs/import`, body);
async function list(
  bridge: TestBridge,
  query = '',
): Promise<{ key: string; optOuts: Json[]; cursor: string }> {
  const { status, body } = await bridge.operator('GET', `/operator/opt-outs${query}`);
  expect(status).toBe(200);
  return body as unknown as { key: string; optOuts: Json[]; cursor: string };
}
let count = 0;
async function text(bridge: TestBridge, phone: string): Promise<unknown> {
  const { status, json } = await bridge.post({ ...GOOD, messageId: `m${++count}`, phone });
  return json?.['code'] ?? status;
}

describe('the list of opt-outs', () => {
  it('E4 an operator adds and removes a number, in any format, and the webhook follows', async () => {
    const bridge = await startWithMac({ env: { OPT_OUT_ENFORCED: 'true' } });
    expect((await decide(bridge, '(415) 555-0100', true)).status).toBe(204);
    expect(await text(bridge, PHONE)).toBe('OPTED_OUT');
    expect(await list(bridge, `?phone=${encodeURIComponent(PHONE)}`)).toMatchObject({
      optOuts: [{ locationId: LOCATION, source: 'operator' }],
      cursor: null,
    });
    expect((await decide(bridge, PHONE, false)).status).toBe(204);
    expect(await text(bridge, PHONE)).toBe(200);
    expect((await list(bridge)).optOuts).toEqual([]);
  });

  it('E4 imports numbers, reports those that are not numbers by position, and records only how many', async () => {
    const bridge = await startWithMac({ env: { OPT_OUT_ENFORCED: 'true' } });
    const numbers = [PHONE, 'n/a', '+44 20 7946 0018', PHONE, '', 'jo@example.com', '+1'];
    expect((await importInto(bridge, { numbers })).body).toEqual({ imported: 4, invalid: [1, 4, 6] });
    expect(await text(bridge, PHONE)).toBe('OPTED_OUT');
    expect(await text(bridge, '+442079460018')).toBe('OPTED_OUT');
    expect((await list(bridge)).optOuts).toHaveLength(3);
    const { body } = await bridge.operator('GET', '/operator/audit?limit=1');
    expect(body['entries']).toMatchObject([
      { action: 'opt_out.imported', target: LOCATION, detail: { numbers: 4 } },
    ]);
    expect(bridge.log + JSON.stringify([body, await list(bridge)])).not.toMatch(
      /5550100|79460018|jo@example/,
    );
  });

  it('E4 a list with an earlier date does not undo a later START, and a date in the future counts as now', async () => {
    const bridge = await start({ stoppedClock: true });
    await decide(bridge, PHONE, false);
    const at = (ms: number) => new Date(bridge.clock.now() + ms).toISOString();
    await importInto(bridge, { numbers: [PHONE], decidedAt: at(-1000) });
    expect((await list(bridge)).optOuts).toEqual([]);
    await importInto(bridge, { numbers: [PHONE], decidedAt: at(86_400_000) });
    expect((await list(bridge)).optOuts).toMatchObject([{ since: at(0) }]);
  });

  it('E4 an export is imported by a service with the same key, and rejected by any other', async () => {
    const bridge = await start({});
    await importInto(bridge, { numbers: [PHONE, '+14155550101', '+14155550102'] });
    const first = await list(bridge, '?limit=2');
    const rest = await list(bridge, `?limit=2&cursor=${encodeURIComponent(first.cursor)}`);
    expect([first.optOuts.length, rest.optOuts.length, rest.cursor]).toEqual([2, 1, null]);
    const exported = [...first.optOuts, ...rest.optOuts];
    const hashes = exported.map(({ hash, source, since }) => ({ hash, source, since }));
    expect((await importInto(bridge, { key: first.key, hashes }, OTHER_LOCATION)).body).toEqual({
      imported: 3,
      invalid: [],
    });
    const copied = await list(bridge, `?locationId=${OTHER_LOCATION}`);
    expect(copied.optOuts).toEqual(exported.map((entry) => ({ ...entry, locationId: OTHER_LOCATION })));

    const other = await start({});
    expect((await list(other)).key).not.toBe(first.key);
    const refused = await importInto(other, { key: first.key, hashes });
    expect([refused.status, refused.body['message']]).toEqual([409, expect.stringContaining('another key')]);
    expect((await list(other)).optOuts).toEqual([]);
  });

  it('E4 rejects malformed lists without changing anything, and never echoes a number', async () => {
    const bridge = await start({});
    for (const body of [
      undefined,
      {},
      [],
      { numbers: 'all' },
      { numbers: [7] },
      { numbers: Array.from({ length: 2001 }, () => PHONE) },
      { numbers: [PHONE], decidedAt: 'yesterday' },
      { numbers: [PHONE], extra: true },
      { hashes: [] },
      { key: 'k', hashes: [{ hash: 'a b', source: 'word', since: '2026-01-01T00:00:00Z' }] },
      { key: 'k', hashes: [{ hash: 'a', source: 'me', since: '2026-01-01T00:00:00Z' }] },
    ]) {
      const { status } = await bridge.operator('POST', `${OF_LOCATION}/import`, body);
      expect([JSON.stringify(body)?.slice(0, 80), status]).toEqual([JSON.stringify(body)?.slice(0, 80), 400]);
    }
    const refused = await decide(bridge, 'call +14155550', true);
    expect(refused.status).toBe(400);
    expect(JSON.stringify(refused.body)).not.toContain('4155550');
    for (const query of ['?cursor=x', '?limit=0', '?limit=2001', '?phone=abc', '?colour=red'])
      expect((await bridge.operator('GET', `/operator/opt-outs${query}`)).status).toBe(400);
    expect((await list(bridge)).optOuts).toEqual([]);
  });

  it('E4 a token for some locations sees and changes only those', async () => {
    const bridge = await start({});
    await importInto(bridge, { numbers: [PHONE] });
    await importInto(bridge, { numbers: [PHONE] }, OTHER_LOCATION);
    const { body } = await bridge.operator('POST', '/operator/tokens', { label: 'A', locations: [LOCATION] });
    const call = async (method: string, path: string, sent?: object) => {
      const answer = await fetch(bridge.bridge.operatorUrl + path, {
        method,
        headers: { Authorization: `Bearer ${String(body['token'])}`, 'Content-Type': 'application/json' },
        ...(sent !== undefined && { body: JSON.stringify(sent) }),
      });
      return { status: answer.status, text: await answer.text() };
    };
    expect(JSON.parse((await call('GET', '/operator/opt-outs')).text)).toMatchObject({
      optOuts: [{ locationId: LOCATION }],
    });
    expect((await call('GET', `/operator/opt-outs?locationId=${OTHER_LOCATION}`)).text).not.toContain('hash');
    const foreign = `/operator/locations/${OTHER_LOCATION}/opt-outs`;
    expect((await call('PUT', foreign, { phone: PHONE, optedOut: false })).status).toBe(403);
    expect((await call('POST', `${foreign}/import`, { numbers: [] })).status).toBe(403);
    expect((await call('PUT', OF_LOCATION, { phone: PHONE, optedOut: false })).status).toBe(204);
  });
});
