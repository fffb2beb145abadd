// One node without sockets: the switchboard and the heartbeat wheel of the service, with Macs in memory.
import { setTimeout as sleep } from 'node:timers/promises';

import { asLocationId, newRequestId } from '@footbridge/protocol/ids';
import type { LocationId } from '@footbridge/protocol/ids';
import { every, systemClock } from '@footbridge/runtime/clock';
import { HeartbeatWheel } from '@footbridge/service/relay/macs/watch-macs';
import type { Beating } from '@footbridge/service/relay/macs/watch-macs';
import { SendLedger } from '@footbridge/service/relay/switchboard/send-ledger';
import { createRedisSwitchboard } from '@footbridge/service/relay/switchboard/switchboard-redis';
import type { Switchboard } from '@footbridge/service/relay/switchboard/switchboard';
import { openRedis } from '@footbridge/service/platform/redis/open-redis';
import { sendFrame } from '@footbridge/testkit/send-frame';
import { silentLog } from '@footbridge/testkit/silent-log';

import { serve } from '../environment/worker.ts';

const HEARTBEAT_MS = 15_000;
const BINDS_AT_ONCE = 50;
const RECONNECT_MS = 1000;
const SENDS_AT_ONCE = 25;
const TEXT = 'See you on Tuesday at ten, and bring the papers.';

const wheel = new HeartbeatWheel<Beating>(HEARTBEAT_MS);
let switchboard: Switchboard | undefined;
let [beats, lost, busy, notWritten] = [0, 0, 0, 0];

const board = (): Switchboard => {
  if (switchboard === undefined) throw new Error('not open');
  return switchboard;
};

function locationOf(index: number): LocationId {
  const id = asLocationId(`location${String(index).padStart(12, '0')}`);
  if (id === undefined) throw new Error('not a location');
  return id;
}

/** Binds a Mac. Like a real Mac, it retries when Redis is busy and reconnects when it loses its lease. */
async function bind(index: number): Promise<void> {
  try {
    const outcome = await board().bind(locationOf(index), {
      sessionId: newRequestId(),
      deviceId: `device-${index}`,
      write: () => 'written',
      disconnect(reason) {
        if (reason === 'resumed') return;
        lost++;
        void bind(index);
      },
      repeat() {},
    });
    if (outcome.kind === 'bound') return;
  } catch {
    busy++;
  }
  await sleep(RECONNECT_MS * (1 + Math.random()));
  await bind(index);
}

/** Runs `task` for every index, `atOnce` of them at a time. */
async function all(count: number, atOnce: number, task: (index: number) => Promise<void>): Promise<void> {
  let next = 0;
  const tasks = Array.from({ length: atOnce }, async () => {
    while (next < count) await task(next++);
  });
  await Promise.all(tasks);
}

/** What this process did while a call ran, and the number of lost leases, of retried binds (`busy`), and of messages without a Mac. */
export interface Usage {
  readonly cpuMicros: number;
  readonly beats: number;
  readonly lost: number;
  readonly busy: number;
  readonly notWritten: number;
}

async function measured(task: () => Promise<void>): Promise<Usage> {
  const cpu = process.cpuUsage();
  [beats, lost, busy, notWritten] = [0, 0, 0, 0];
  await task();
  const { user, system } = process.cpuUsage(cpu);
  return { cpuMicros: user + system, beats, lost, busy, notWritten };
}

const calls = {
  async open(redisUrl: string): Promise<void> {
    const redis = await openRedis({ url: redisUrl, prefix: 'test:', log: silentLog });
    switchboard = await createRedisSwitchboard({
      redis,
      nodeSecret: 'a secret of all nodes',
      clock: systemClock,
      log: silentLog,
      ledger: new SendLedger({ clock: systemClock, onDrop: () => {} }),
    });
    every(systemClock, wheel.tickMs, () => wheel.turn());
  },

  bind: (from: number, count: number) =>
    measured(() =>
      all(count, BINDS_AT_ONCE, async (index) => {
        await bind(from + index);
        wheel.add({ slot: 0, beat: () => beats++, checkPong() {} });
      }),
    ),

  /** Renews leases and sends heartbeats, nothing else. */
  idle: (ms: number) => measured(() => sleep(ms)),

  /** Sends messages to random Macs of all processes. */
  send: (count: number, macs: number) =>
    measured(() =>
      all(count, SENDS_AT_ONCE, async () => {
        const location = locationOf(Math.floor(Math.random() * macs));
        const outcome = await board()
          .send(location, sendFrame({ message: TEXT }))
          .catch(() => 'busy');
        if (outcome !== 'written') notWritten++;
      }),
    ),
};

export type LeaseCalls = typeof calls;

serve(calls);
