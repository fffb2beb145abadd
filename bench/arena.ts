import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import type { Contestant, Running } from './contestants/contestant.ts';
import type { Pinning } from './measure/pinning.ts';
import { locationNames, startEnvironment } from './environment/environment.ts';
import type { BenchEnvironment } from './environment/environment.ts';

/** A running contestant with its Macs connected. */
export interface Lane extends Running {
  readonly locations: readonly string[];
}

export interface Arena {
  readonly environment: BenchEnvironment;
  /** Starts a contestant and connects `macs` Macs to it. */
  enter(contestant: Contestant, macs: number): Promise<Lane>;
  /** Connects more Macs to a running contestant. */
  widen(lane: Lane, macs: number): Promise<Lane>;
  leave(lane: Lane): Promise<void>;
  stop(): Promise<void>;
}

export async function openArena(options: {
  pinning: Pinning;
  profileFolder?: string | undefined;
}): Promise<Arena> {
  const { pinning, profileFolder } = options;
  const root = await mkdtemp(join(tmpdir(), 'footbridge-bench-'));
  const environment = await startEnvironment(pinning);
  const open = new Set<Running>();
  let entered = 0;

  const widen = async (running: Running, from: readonly string[], macs: number): Promise<Lane> => {
    const locations = locationNames(macs);
    if (macs === 0) return { ...running, locations };
    const credentials = await running.enrol(locations.slice(from.length));
    await environment.macs.call(
      'connect',
      running.name,
      running.url.replace('http', 'ws') + '/mac/socket',
      credentials,
    );
    return { ...running, locations };
  };

  return {
    environment,
    async enter(contestant, macs) {
      const folder = join(root, String(++entered));
      await mkdir(folder);
      const running = await contestant.start({
        crmUrl: environment.crmUrl,
        publicKey: environment.key.publicKey,
        pinning,
        folder,
        profileFolder,
      });
      open.add(running);
      return widen(running, [], macs);
    },
    widen: (lane, macs) => widen(lane, lane.locations, macs),
    async leave(lane) {
      await environment.macs.call('disconnect', lane.name);
      await lane.stop();
    },
    async stop() {
      await environment.stop();
      await Promise.all([...open].map((running) => running.stop()));
      await rm(root, { recursive: true, force: true, maxRetries: 5, retryDelay: 50 });
    },
  };
}
