import { asLocationId } from '@footbridge/protocol/ids';
import { FakeClock } from '@footbridge/testkit/fake-clock';
import { describe, expect, it } from 'vitest';

import { createMemorySwitchboard } from './switchboard-memory.ts';
import { switchboardContract } from './switchboard.contract.ts';
import type { DisconnectReason, MacConnection } from './switchboard.ts';

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

describe('the memory switchboard', () => {
  it('M1 hands out growing epochs across restarts', async () => {
    const clock = new FakeClock();
    const epochs = [];
    for (let start = 0; start < 3; start++) {
      const switchboard = createMemorySwitchboard({ clock });
      const outcome = await switchboard.bind(location, connection([]));
      epochs.push(outcome.kind === 'bound' ? outcome.lease.epoch : 0);
      await switchboard.close();
      await clock.advance(1);
    }
    expect(epochs).toEqual(epochs.toSorted((a, b) => a - b));
    expect(new Set(epochs).size).toBe(3);
    expect(Math.max(...epochs)).toBeLessThan(Number.MAX_SAFE_INTEGER);
  });

  it('M1 disconnects the Macs when it closes, and then rejects with EngineError instead of "not connected"', async () => {
    const switchboard = createMemorySwitchboard({ clock: new FakeClock() });
    const disconnects: DisconnectReason[] = [];
    await switchboard.bind(location, connection(disconnects));
    await switchboard.close();
    await switchboard.close();
    expect(disconnects).toEqual(['fenced']);
    await expect(switchboard.send(location, { type: 'redeliver', seq: 1 })).rejects.toThrow(/closed/);
    await expect(switchboard.bind(location, connection([]))).rejects.toThrow(/closed/);
    await expect(switchboard.ping()).rejects.toThrow(/closed/);
  });
});

function connection(disconnects: DisconnectReason[]): MacConnection {
  return {
    sessionId: 's1',
    deviceId: 'device-1',
    write: () => 'written',
    repeat: () => {},
    disconnect: (reason) => disconnects.push(reason),
  };
}
