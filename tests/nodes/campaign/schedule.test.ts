import { describe, expect, it } from 'vitest';

import { FAULT_KINDS, faultKinds, KILL } from './fault-kinds.ts';
import { createSchedule, shareOf } from './schedule.ts';

const kinds = faultKinds({ agents: 2 });
const full = { seed: 11, faults: 2000, kills: 200, kinds };

describe('the schedule of a campaign', () => {
  it('is the same for the same seed and another for another seed', () => {
    expect(createSchedule(full)).toEqual(createSchedule(full));
    expect(createSchedule({ ...full, seed: 12 })).not.toEqual(createSchedule(full));
  });

  it('has exactly the requested faults and kills, and every other kind equally often', () => {
    const counts = new Map(kinds.map((kind) => [kind, 0]));
    for (const { kind } of createSchedule(full)) counts.set(kind, (counts.get(kind) ?? 0) + 1);
    expect([...counts.values()].reduce((sum, count) => sum + count, 0)).toBe(2000);
    expect(counts.get(KILL)).toBe(200);
    counts.delete(KILL);
    expect(Math.max(...counts.values()) - Math.min(...counts.values())).toBeLessThanOrEqual(1);
  });

  it('spreads the kills over all rounds', () => {
    const schedule = createSchedule(full);
    for (let round = 0; round < 40; round++)
      expect(shareOf(schedule, round, 40).filter(({ kind }) => kind === KILL)).toHaveLength(5);
  });

  it('loses and repeats no fault when it is divided into rounds', () => {
    const schedule = createSchedule({ ...full, faults: 101, kills: 7 });
    expect([0, 1, 2].flatMap((round) => shareOf(schedule, round, 3))).toEqual(schedule);
  });

  it('keeps every duration within the limits of its kind', () => {
    for (const { kind, durationMs } of createSchedule(full)) {
      const traits = FAULT_KINDS[kind];
      const [least, most] = [traits.ms[0], 'longMs' in traits ? traits.longMs[1] : traits.ms[1]];
      expect(durationMs).toBeGreaterThanOrEqual(least);
      expect(durationMs).toBeLessThanOrEqual(most);
    }
  });

  it('rejects more kills than faults', () => {
    expect(() => createSchedule({ ...full, faults: 3, kills: 4 })).toThrow(
      '4 kills do not fit into 3 faults',
    );
  });

  it('has at least 18 kinds without the real agent, and none that needs it', () => {
    const withoutAgents = faultKinds({ agents: 0 });
    expect(withoutAgents.length).toBeGreaterThanOrEqual(18);
    expect(withoutAgents.filter((kind) => kind.startsWith('agent'))).toEqual([]);
  });
});
