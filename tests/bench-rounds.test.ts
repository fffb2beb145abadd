import { expect, it } from 'vitest';

import { rotated } from '../bench/scenarios/costs.ts';

it('gives each candidate of the benchmark each position equally often', () => {
  const candidates = ['floor', 'floor again', 'fast floor', 'durable floor', 'reference', 'footbridge'];
  const rounds = Array.from({ length: 12 }, (_, round) => rotated(candidates, round));
  for (const [position] of candidates.entries()) {
    const at = rounds.map((order) => order[position]);
    for (const candidate of candidates) expect(at.filter((name) => name === candidate)).toHaveLength(2);
  }
});
