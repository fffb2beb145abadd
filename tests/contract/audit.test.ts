import { describe, expect, it } from 'vitest';

import { bridges } from './test-bridge.ts';
import type { TestBridge } from './test-bridge.ts';

const start = bridges();

interface Entry {
  readonly id: string;
  readonly actor: string;
  readonly name: string | null;
  readonly action: string;
  readonly target: string;
}

async function audit(bridge: TestBridge, query = ''): Promise<{ entries: Entry[]; cursor: string | null }> {
  const { body } = await bridge.operator('GET', `/operator/audit${query}`);
  return body as unknown as { entries: Entry[]; cursor: string | null };
}

describe('the audit log', () => {
  it('M8 names the token behind each change, and the Mac behind its own', async () => {
    const bridge = await start();
    const { body } = await bridge.operator('POST', '/operator/tokens', { label: 'Night shift' });
    await fetch(`${bridge.bridge.operatorUrl}/operator/session`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify({ token: body['token'] }),
    });
    const created = await fetch(`${bridge.bridge.operatorUrl}/operator/licenses`, {
      method: 'POST',
      headers: {
        'Content-Type': 'application/json',
        Authorization: `Bearer ${String(body['token'])}`,
      },
      body: JSON.stringify({ label: 'Office', maxSeats: 1 }),
    });
    const { id, key } = (await created.json()) as { id: string; key: string };
    await bridge.token('mac-audit-1', key);
    await bridge.operator('PATCH', `/operator/licenses/${id}`, { maxSeats: 2 });

    const { entries } = await audit(bridge, '?limit=5');
    expect(entries.map(({ actor, name, action }) => [actor, name, action])).toEqual([
      ['operator', 'Operator', 'license.changed'],
      ['mac', null, 'device.activated'],
      ['operator', 'Night shift', 'license.created'],
      ['operator', 'Night shift', 'session.started'],
      ['operator', 'Operator', 'token.created'],
    ]);
  });

  it('M8 is read page by page, and only by tokens for all locations', async () => {
    const bridge = await start();
    for (let index = 0; index < 5; index++) await bridge.createLicense();
    const first = await audit(bridge, '?limit=3');
    const second = await audit(bridge, `?limit=3&before=${String(first.cursor)}`);
    const ids = [...first.entries, ...second.entries].map(({ id }) => id);
    expect(new Set(ids).size).toBe(6);
    expect(ids).toEqual(ids.toSorted().toReversed());
    expect((await bridge.operator('GET', '/operator/audit?limit=0')).status).toBe(400);

    const { body } = await bridge.operator('POST', '/operator/tokens', { label: 'Agency', locations: ['a'] });
    const limited = await fetch(`${bridge.bridge.operatorUrl}/operator/audit`, {
      headers: { Authorization: `Bearer ${String(body['token'])}` },
    });
    expect(limited.status).toBe(403);
  });
});
