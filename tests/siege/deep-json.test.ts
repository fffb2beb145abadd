import { connectMac } from '@footbridge/testkit/mac';
import { createCleanup } from '@footbridge/testkit/cleanup';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { ATTACKER, startStage } from './stage.ts';
import type { Stage } from './stage.ts';

const cleanup = createCleanup();
afterAll(() => cleanup.run());

let stage: Stage;
beforeAll(async () => {
  stage = await startStage(cleanup);
});

/** A syntax error inside of thousands of lists or objects ends a process with Node 26.10, after some attempts. */
const BODIES = {
  lists: `${'[0,'.repeat(30_000)}"`,
  objects: `${'{"a":0,"b":'.repeat(11_000)}nul`,
};
const ATTEMPTS = 100;

describe.each(Object.entries(BODIES))('a syntax error inside of thousands of %s', (_what, body) => {
  it.each(['/crm/webhook', '/crm/events', '/mac/activate', '/mac/pair'])(
    'T60 does not end the service at %s',
    async (path) => {
      const init = { method: 'POST', headers: { 'Content-Type': 'application/json' }, body };
      for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
        const { status } = await fetch(stage.service.url + path, init).catch(() => ({ status: 0 }));
        expect([400, 401, 413, 429]).toContain(status);
      }
      expect(stage.service.isRunning).toBe(true);
    },
  );

  it('T60 does not end the service at the sign-in of the operator', async () => {
    const init = {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: body.slice(-60_000),
    };
    for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
      const { status } = await fetch(`${stage.service.operatorUrl}/operator/session`, init).catch(() => ({
        status: 0,
      }));
      expect([400, 413, 429]).toContain(status);
    }
    expect(stage.service.isRunning).toBe(true);
  });

  it('T60 does not end the service in a frame of a Mac', async () => {
    const token = await stage.token('mac-deep');
    for (let attempt = 0; attempt < 20; attempt++) {
      const mac = await connectMac(stage.service.url, { token }).catch(() => undefined);
      if (mac === undefined) continue;
      await mac.register(ATTACKER).catch(() => undefined);
      for (let frame = 0; frame < 5; frame++)
        if (mac.isOpen) mac.sendRaw(frame % 2 === 0 ? body : ` ${body}`);
      await mac.close();
    }
    expect(stage.service.isRunning).toBe(true);
  });
});
