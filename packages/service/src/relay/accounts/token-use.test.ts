import { FakeClock } from '@footbridge/testkit/fake-clock';
import { expect, it } from 'vitest';

import { TokenUse } from './token-use.ts';

function setUp() {
  const clock = new FakeClock();
  const warnings: object[] = [];
  let takeOvers = 0;
  const use = new TokenUse({
    clock,
    log: { warn: (fields: object) => void warnings.push(fields) },
    takenOver: () => takeOvers++,
  });
  const connect = (address: string) => use.connected({ deviceRow: 'row', deviceId: 'mac-1' }, address);
  return { clock, use, connect, warnings, takeOvers: () => takeOvers };
}

it('T57 counts the take-overs of a device by another address', () => {
  const { use, connect, warnings, takeOvers } = setUp();
  for (const address of ['a', 'a', 'b', 'b', 'c']) connect(address);
  expect(use.of('row')).toEqual({ count: 2, isAlternating: false });
  expect(use.of('other')).toEqual({ count: 0, isAlternating: false });
  expect(takeOvers()).toBe(2);
  expect(warnings).toEqual([]);
});

it('T57 warns once when two addresses alternate', async () => {
  const { clock, use, connect, warnings } = setUp();
  for (const address of ['a', 'b', 'a', 'b', 'a', 'b']) connect(address);
  expect(use.of('row').isAlternating).toBe(true);
  expect(warnings).toEqual([{ event: 'device.two_addresses', deviceId: 'mac-1', takeOvers: 3 }]);
  await clock.advance(700_000);
  expect(use.of('row').isAlternating).toBe(false);
});

it('T57 the service does not warn about a Mac that moves now and then', async () => {
  const { clock, connect, warnings } = setUp();
  for (const address of ['a', 'b', 'a', 'b', 'a']) {
    connect(address);
    await clock.advance(300_000);
  }
  expect(warnings).toEqual([]);
});
