import { expect, it } from 'vitest';

import { FakeClock } from '../../fake-clock.ts';
import { createLogger } from '../../log.ts';
import { LastSeen } from './last-seen.ts';

function open() {
  const clock = new FakeClock();
  const seen: (readonly string[])[] = [];
  const told: string[] = [];
  const state = { down: false };
  const lastSeen = new LastSeen({
    licenses: {
      async seen(rows) {
        if (state.down) throw new Error('the database is away');
        seen.push(rows);
      },
      async updated(row, { osVersion, appVersion }) {
        told.push(`${row} ${osVersion} ${appVersion}`);
      },
    },
    clock,
    log: createLogger('silent'),
  });
  return { clock, seen, told, state, lastSeen };
}

it('M7 when Macs were seen is written behind, together, a few hundred at a time', async () => {
  const { clock, seen, lastSeen } = open();
  for (let index = 0; index < 450; index++) lastSeen.note(`dev_${index}`);
  lastSeen.note('dev_0');
  expect(seen).toEqual([]);
  await clock.advance(30_000);
  await lastSeen.flush();
  expect(seen.map((rows) => rows.length)).toEqual([200, 200, 50]);
  await lastSeen.close();
  expect(seen).toHaveLength(3);
});

it('M7 what could not be written is written later, at the latest when the service stops', async () => {
  const { clock, seen, state, lastSeen } = open();
  state.down = true;
  lastSeen.note('dev_1');
  await clock.advance(30_000);
  expect(seen).toEqual([]);
  state.down = false;
  await lastSeen.close();
  expect(seen).toEqual([['dev_1']]);
});

it('M7 versions are stored when they are news, once', async () => {
  const { told, lastSeen } = open();
  const known = { deviceRow: 'dev_1', osVersion: '26.1', appVersion: '1.0.0' };
  await lastSeen.versions(known, { osVersion: '26.1', appVersion: '1.0.0' });
  for (let again = 0; again < 2; again++)
    await lastSeen.versions(known, { osVersion: '26.2', appVersion: '1.0.1' });
  expect(told).toEqual(['dev_1 26.2 1.0.1']);
});
