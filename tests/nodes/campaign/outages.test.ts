import { setTimeout as sleep } from 'node:timers/promises';

import { describe, expect, it } from 'vitest';

import { Outages } from './outages.ts';

/** Begins an outage that lasts until the test ends it. */
function begin(outages: Outages, node?: number) {
  const { promise, resolve } = Promise.withResolvers<void>();
  const over = outages.during(node, () => promise);
  return { at: performance.now(), end: () => (resolve(), over) };
}

describe('the outages of nodes', () => {
  it('isolate a node from the time when the last of the others was lost', async () => {
    const outages = new Outages(3);
    expect(outages.aloneSince(0)).toBe(Infinity);
    const first = begin(outages, 1);
    expect(outages.aloneSince(0)).toBe(Infinity);
    await sleep(5);
    const second = begin(outages, 2);
    expect(outages.aloneSince(0)).toBeGreaterThan(first.at);
    expect(outages.aloneSince(0)).toBeLessThanOrEqual(second.at);
    expect(outages.aloneSince(1)).toBe(Infinity);
  });

  it('isolate it until another node has been back for long enough', async () => {
    const outages = new Outages(2);
    const only = begin(outages, 1);
    await only.end();
    const ended = performance.now();
    expect(outages.aloneSince(0, ended + 5000)).toBeLessThanOrEqual(only.at);
    expect(outages.aloneSince(0, ended + 6000)).toBe(Infinity);
  });

  it('of all nodes isolate each of them', () => {
    const outages = new Outages(4);
    const { at } = begin(outages);
    expect(outages.aloneSince(3)).toBeLessThanOrEqual(at);
  });
});
