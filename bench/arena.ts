import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import type { Contestant, Running } from './contestants/contestant.ts';
import type { Pinning } from './measure/pinning.ts';
import { locationNames, startWorld } from './world/world.ts';
import type { World } from './world/world.ts';

/** A contestant that is up, with its Macs connected. */
export interface Lane extends Running {
  readonly locations: readonly string[];
}

export interface Arena {
  readonly world: World;
  /** Starts a contestant and connects `macs` Macs to it. */
  enter(contestant: Contestant, macs: number): Promise<Lane>;
  /** Connects more Macs to one that is up. */
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
  const world = await startWorld(pinning);
  const open = new Set<Running>();
  let entered = 0;

  const widen = async (running: Running, from: readonly string[], macs: number): Promise<Lane> => {
    const locations = locationNames(macs);
    if (macs === 0) return { ...running, locations };
    const credentials = await running.enrol(locations.slice(from.length));
    await world.macs.call(
      'connect',
      running.name,
      running.url.replace('http', 'ws') + '/mac/socket',
      credentials,
    );
    return { ...running, locations };
  };

  return {
    world,
    async enter(contestant, macs) {
      const folder = join(root, String(++entered));
      await mkdir(folder);
      const running = await contestant.start({
        crmUrl: world.crmUrl,
        publicKey: world.key.publicKey,
        pinning,
        folder,
        profileFolder,
      });
      open.add(running);
      return widen(running, [], macs);
    },
    widen: (lane, macs) => widen(lane, lane.locations, macs),
    async leave(lane) {
      await world.macs.call('disconnect', lane.name);
      await lane.stop();
    },
    async stop() {
      await world.stop();
      await Promise.all([...open].map((running) => running.stop()));
      await rm(root, { recursive: true, force: true, maxRetries: 5, retryDelay: 50 });
    },
  };
}
