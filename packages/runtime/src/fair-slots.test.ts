import { expect, it } from 'vitest';

import { FairSlots } from './fair-slots.ts';

function setUp(total: number) {
  let now = 0;
  const slots = new FairSlots(total, { monotonic: () => now });
  const running: { key: string; release: () => void }[] = [];
  const enter = (key: string) => slots.enter(key, (release) => running.push({ key, release }));
  const finish = (key: string) => {
    const index = running.findIndex((job) => job.key === key);
    running.splice(index, 1)[0]?.release();
  };
  const pass = (ms: number) => (now += ms);
  return { slots, enter, finish, pass, running: () => running.map(({ key }) => key) };
}

it('T52 leaves room for a key that comes after greedy ones', () => {
  const { enter, running } = setUp(256);
  for (const greedy of ['a', 'b', 'c', 'd', 'e']) for (let job = 0; job < 300; job++) enter(greedy);
  enter('late');
  expect(running().at(-1)).toBe('late');
});

it('T52 gives a free slot to the key that has used the least', () => {
  const { enter, finish, pass, running } = setUp(1);
  for (let job = 0; job < 50; job++) enter('slow');
  enter('quick');
  enter('quick');
  expect(running()).toEqual(['slow']);
  pass(20_000);
  finish('slow');
  expect(running()).toEqual(['quick']);
  pass(10);
  finish('quick');
  expect(running()).toEqual(['quick']);
  finish('quick');
  expect(running()).toEqual(['slow']);
});

it('forgets the slot time of the past', () => {
  const { enter, finish, pass, running } = setUp(1);
  enter('slow');
  pass(10_000);
  finish('slow');
  // Half of it is left after a minute.
  pass(600_000);
  enter('busy');
  pass(100);
  enter('slow');
  enter('busy');
  finish('busy');
  expect(running()).toEqual(['slow']);
});

it('does not start work that was withdrawn', () => {
  const { slots, enter, finish, running } = setUp(1);
  enter('a');
  const withdraw = enter('b');
  expect(slots.waiting).toBe(1);
  withdraw();
  expect(slots.waiting).toBe(0);
  finish('a');
  expect(running()).toEqual([]);
  expect(slots.inUse).toBe(0);
});
