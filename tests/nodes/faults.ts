import { setTimeout as sleep } from 'node:timers/promises';

import type { House, Node } from './house.ts';
import type { StubbornMac } from './stubborn-mac.ts';

type Kind = readonly [name: string, strike: () => Promise<unknown>];

/** Breaks one thing after the other, in turn, for a random while; nothing that it is breaking at the moment. Tells what it did. */
export function createMonkey(
  house: House,
  locations: readonly (readonly StubbornMac[])[],
  random: () => number,
  struck: (name: string, from: number, to: number) => void,
): () => Promise<void> {
  const busy = new Set<unknown>();
  const pick = <T>(from: readonly T[]): T | undefined => from[Math.floor(random() * from.length)];
  const aWhile = (least: number, most: number) => sleep(least + random() * (most - least));

  /** With something of its own, or not at all. */
  async function alone<T>(from: readonly T[], act: (one: T) => Promise<unknown>): Promise<unknown> {
    const one = pick(from.filter((each) => !busy.has(each)));
    if (one === undefined) return false;
    busy.add(one);
    try {
      return await act(one);
    } finally {
      busy.delete(one);
    }
  }
  const node = (act: (one: Node) => Promise<unknown>) => () => alone(house.nodes, act);
  const redis = (act: (one: House['redis']) => Promise<unknown>) => () => alone([house.redis], act);
  const macs = () => pick(locations) ?? [];

  const kinds: readonly Kind[] = [
    [
      'node killed',
      node(async ({ service }) => {
        await service.kill9();
        await aWhile(0, 1000);
        await house.startAgain(service);
      }),
    ],
    [
      'mac dropped',
      async () =>
        macs()
          .find(({ wanted }) => wanted)
          ?.drop(),
    ],
    [
      'node frozen',
      node(async ({ service }) => {
        service.pause();
        // Some longer than a lease lasts.
        await (random() < 0.25 ? aWhile(9000, 13_000) : aWhile(500, 4000));
        service.resume();
      }),
    ],
    ['redis flushed', redis((server) => server.flush())],
    [
      'node cut off from redis',
      node(async ({ redis: line }) => {
        const gap = line.add({ type: 'timeout' });
        await (random() < 0.25 ? aWhile(9000, 13_000) : aWhile(500, 4000));
        gap.remove();
      }),
    ],
    [
      'mac displaced',
      async () => {
        const challenger = macs().find(({ wanted }) => !wanted);
        if (challenger !== undefined) challenger.wanted = true;
      },
    ],
    ['redis sockets cut', node(async ({ redis: line }) => line.cut())],
    ['redis restarted', redis((server) => server.restart({ keepData: random() < 0.3 }))],
    [
      'mac dropped',
      async () =>
        macs()
          .find(({ wanted }) => wanted)
          ?.drop(),
    ],
    [
      'node deaf to redis',
      node(async ({ redis: line }) => {
        const gap = line.add({ type: 'timeout', direction: 'down' });
        await aWhile(500, 5000);
        gap.remove();
      }),
    ],
    ['postgres sockets cut', node(async ({ postgres: line }) => line.cut())],
    [
      'node killed',
      node(async ({ service }) => {
        await service.kill9();
        await house.startAgain(service);
      }),
    ],
    [
      'redis frozen',
      redis(async (server) => {
        server.pause();
        await aWhile(300, 2500);
        server.resume();
      }),
    ],
    ['postgres restarted', () => alone([house.postgres], (server) => server.restart())],
    [
      'node cut off from postgres',
      node(async ({ postgres: line }) => {
        const gap = line.add({ type: 'timeout' });
        await aWhile(500, 4000);
        gap.remove();
      }),
    ],
  ];
  let turn = 0;

  return async function strike() {
    for (;;) {
      const [name, act] = kinds[turn++ % kinds.length] ?? ['nothing', async () => false];
      const began = performance.now();
      if ((await act()) === false) continue;
      struck(name, began, performance.now());
      return aWhile(500, 2000);
    }
  };
}
