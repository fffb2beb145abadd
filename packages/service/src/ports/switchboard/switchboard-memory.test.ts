import { asLocationId } from '@footbridge/protocol/ids';
import { describe, expect, it } from 'vitest';

import { FakeClock } from '../../fake-clock.ts';
import { createMemorySwitchboard } from './switchboard-memory.ts';
import { switchboardContract } from './switchboard.contract.ts';
import type { CutReason, Line } from './switchboard.ts';

switchboardContract('memory', async ({ contention }) => {
  const clock = new FakeClock();
  const switchboard = createMemorySwitchboard({ clock, contention });
  return {
    nodes: [switchboard],
    passTime: (ms) => clock.advance(ms),
    close: () => switchboard.close(),
  };
});

const location = asLocationId('loc1') ?? expect.fail('not a location');

describe('switchboard in memory', () => {
  it('M1 epochs do not go back over a restart', async () => {
    const clock = new FakeClock();
    const epochs = [];
    for (let start = 0; start < 3; start++) {
      const switchboard = createMemorySwitchboard({ clock });
      const outcome = await switchboard.bind(location, lineThatTells([]));
      epochs.push(outcome.kind === 'bound' ? outcome.lease.epoch : 0);
      await switchboard.close();
      await clock.advance(1);
    }
    expect(epochs).toEqual(epochs.toSorted((a, b) => a - b));
    expect(new Set(epochs).size).toBe(3);
    expect(Math.max(...epochs)).toBeLessThan(Number.MAX_SAFE_INTEGER);
  });

  it('M1 closing lets the Macs go and answers as an engine that is down, not as "not connected"', async () => {
    const switchboard = createMemorySwitchboard({ clock: new FakeClock() });
    const cuts: CutReason[] = [];
    await switchboard.bind(location, lineThatTells(cuts));
    await switchboard.close();
    await switchboard.close();
    expect(cuts).toEqual(['fenced']);
    await expect(switchboard.send(location, { type: 'redeliver', seq: 1 })).rejects.toThrow(/closed/);
    await expect(switchboard.bind(location, lineThatTells([]))).rejects.toThrow(/closed/);
    await expect(switchboard.ping()).rejects.toThrow(/closed/);
  });
});

function lineThatTells(cuts: CutReason[]): Line {
  return {
    sessionId: 's1',
    deviceId: 'device-1',
    write: () => 'written',
    cut: (reason) => cuts.push(reason),
  };
}
