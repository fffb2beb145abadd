import { expect, it } from 'vitest';

import { Slots } from './request-budget.ts';

const take = (slots: Slots, holder: Parameters<Slots['enter']>[0], wanted: number) =>
  Array.from({ length: wanted }, () => slots.enter(holder)).filter((slot) => typeof slot === 'function');

it('T52 gives no holder more slots than its limit', () => {
  const slots = new Slots({ total: 100, perDevice: 3, perLicense: 5 });
  expect(take(slots, { device: 'a', license: 'x' }, 10)).toHaveLength(3);
  expect(slots.enter({ device: 'a', license: 'x' })).toBe('device');
  expect(take(slots, { device: 'b', license: 'x' }, 10)).toHaveLength(2);
  expect(slots.enter({ device: 'b', license: 'x' })).toBe('license');
  expect(take(slots, { device: 'c', license: 'y' }, 10)).toHaveLength(3);
});

it('T52 keeps a slot for an address that has none, when 20 others take all they can', () => {
  const slots = new Slots({ total: 256, perAddress: 64 });
  for (let attacker = 0; attacker < 20; attacker++) take(slots, { address: `10.0.0.${attacker}` }, 64);
  expect(slots.enter({ address: 'honest' })).toBeTypeOf('function');
});

it('T52 counts the slots of a holder while thousands of others come and go', () => {
  const slots = new Slots({ total: 100, perAddress: 2 });
  const [first] = take(slots, { address: 'a' }, 2);
  for (let other = 0; other < 5000; other++)
    for (const release of take(slots, { address: `other ${other}` }, 1)) release();
  expect(slots.enter({ address: 'a' })).toBe('address');
  first?.();
  expect(take(slots, { address: 'a' }, 2)).toHaveLength(1);
});

it('counts a slot that is released twice once', () => {
  const slots = new Slots({ total: 1 });
  const release = slots.enter();
  if (typeof release !== 'function') throw new Error('no slot');
  expect(slots.enter()).toBe('total');
  release();
  release();
  expect(take(slots, {}, 3)).toHaveLength(1);
});
