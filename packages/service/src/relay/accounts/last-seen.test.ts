import { silentLog } from '@footbridge/testkit/silent-log';
import { FakeClock } from '@footbridge/testkit/fake-clock';
import { expect, it } from 'vitest';

import { LastSeen } from './last-seen.ts';

function open() {
  const clock = new FakeClock();
  const seen: (readonly string[])[] = [];
  const versions: string[] = [];
  const state = { down: false };
  const lastSeen = new LastSeen({
    devices: {
      async recordLastSeen(rows) {
        if (state.down) throw new Error('the database is unavailable');
        seen.push(rows);
      },
      async updateVersions(row, { osVersion, appVersion }) {
        versions.push(`${row} ${osVersion} ${appVersion}`);
      },
    },
    clock,
    log: silentLog,
  });
  return { clock, seen, versions, state, lastSeen };
}

it('M7 writes last-seen times in the background, in batches of 200', async () => {
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

it('M7 retries failed last-seen times, at the latest when the service stops', async () => {
  const { clock, seen, state, lastSeen } = open();
  state.down = true;
  lastSeen.note('dev_1');
  await clock.advance(30_000);
  expect(seen).toEqual([]);
  state.down = false;
  await lastSeen.close();
  expect(seen).toEqual([['dev_1']]);
});

it('M7 stores changed versions once', async () => {
  const { versions, lastSeen } = open();
  const known = { deviceRow: 'dev_1', osVersion: '26.1', appVersion: '1.0.0' };
  await lastSeen.versions(known, { osVersion: '26.1', appVersion: '1.0.0' });
  for (let again = 0; again < 2; again++)
    await lastSeen.versions(known, { osVersion: '26.2', appVersion: '1.0.1' });
  expect(versions).toEqual(['dev_1 26.2 1.0.1']);
});
