import { silentLog } from '@footbridge/testkit/silent-log';
import { seeded } from '@footbridge/testkit/seeded';
import { expect, it } from 'vitest';

import { Occurrence } from './extension-points.ts';

it('an occurrence reaches the other listeners, and its room goes on, when a listener fails', () => {
  const heard: string[] = [];
  const sent = new Occurrence<[string]>('sent', { log: silentLog });
  sent.listen(() => {
    throw new Error('broken');
  });
  sent.listen((what) => heard.push(what));
  sent.happened('one');
  expect(heard).toEqual(['one']);
});

const NAMES = ['first', 'second', 'third'];

function heardIn(placeListener?: (count: number) => number): string[] {
  const heard: string[] = [];
  const sent = new Occurrence('sent', { log: silentLog, placeListener });
  for (const name of NAMES) sent.listen(() => heard.push(name));
  sent.happened();
  return heard;
}

it('an occurrence calls each listener once, in any order that a test asks for', () => {
  expect(heardIn()).toEqual(NAMES);
  const orders = new Set<string>();
  const random = seeded(1);
  for (let run = 0; run < 200; run++) {
    const heard = heardIn((count) => Math.floor(random() * (count + 1)));
    expect(heard.toSorted()).toEqual(NAMES);
    orders.add(heard.join());
  }
  expect(orders.size).toBe(6);
});
