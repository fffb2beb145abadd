import { Counter, Histogram, Registry } from '@prometheus-io/client';
import * as fc from 'fast-check';
import { expect, it } from 'vitest';

import { Counts, Durations } from './tallies.ts';

const label = fc.string({ maxLength: 8 }).map((text) => text.replaceAll('\0', ''));
const BOUNDS = [0.01, 0.1, 1];

it('counts read as the library would write them', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.tuple(label, label), { maxLength: 40 }), async (events) => {
      const registry = new Registry();
      const theirs = new Counter({ name: 'n', help: 'h', labelNames: ['a', 'b'], registers: [registry] });
      const ours = new Counts({ name: 'n', help: 'h', labels: ['a', 'b'] });
      for (const [a, b] of events) {
        theirs.inc({ a, b });
        ours.add(a, b);
      }
      expect(`${ours.render()}\n`).toBe(await registry.metrics());
    }),
  );
});

it('durations read as the library would write them', async () => {
  const seconds = fc.oneof(fc.double({ min: 0, max: 3, noNaN: true }), fc.constantFrom(...BOUNDS));
  await fc.assert(
    fc.asyncProperty(fc.array(fc.tuple(seconds, label), { maxLength: 40 }), async (events) => {
      const registry = new Registry();
      const described = { name: 'n', help: 'h' };
      const theirs = new Histogram({
        ...described,
        labelNames: ['a'],
        buckets: BOUNDS,
        registers: [registry],
      });
      const ours = new Durations({ ...described, labels: ['a'] }, BOUNDS);
      for (const [took, a] of events) {
        theirs.observe({ a }, took);
        ours.observe(took, a);
      }
      expect(`${ours.render()}\n`).toBe(await registry.metrics());
    }),
  );
});

it('without labels, nothing is a zero', async () => {
  const registry = new Registry();
  registry.registerMetric(new Counter({ name: 'n', help: 'h', registers: [] }));
  registry.registerMetric(new Histogram({ name: 'm', help: 'h', buckets: BOUNDS, registers: [] }));
  const ours = [new Counts({ name: 'n', help: 'h' }), new Durations({ name: 'm', help: 'h' }, BOUNDS)];
  expect(`${ours.map((tally) => tally.render()).join('\n\n')}\n`).toBe(await registry.metrics());
});
