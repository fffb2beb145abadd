import { createCleanup } from '@footbridge/testkit/cleanup';
import { until } from '@footbridge/testkit/until';
import { afterEach, describe, expect, it } from 'vitest';

import type { JournalEvent } from './journal.ts';
import type { MessageEvents } from './message-events.ts';

export interface EventNode {
  readonly events: MessageEvents;
  /** Something happens on this node. */
  happen(messageId: string): void;
}

interface Opened {
  readonly nodes: readonly EventNode[];
  close(): Promise<void>;
}

export function messageEventsContract(name: string, open: () => Promise<Opened>): void {
  describe(`message events: ${name}`, () => {
    const cleanup = createCleanup();
    afterEach(() => cleanup.run());

    async function start() {
      const opened = await open();
      cleanup.add(() => opened.close());
      const [first, last] = [opened.nodes[0], opened.nodes.at(-1)];
      if (first === undefined || last === undefined) throw new Error('no nodes');
      return { first, last };
    }

    async function follow({ events }: EventNode, lastId?: string) {
      const seen: (JournalEvent | 'gap')[] = [];
      const stop = await events.follow(lastId, (event) => seen.push(event));
      cleanup.add(stop);
      const names = () => seen.map((event) => (event === 'gap' ? event : event.messageId));
      return { seen, names, stop };
    }

    it('shows every follower the events of every node, in the order of each node', async () => {
      const { first, last } = await start();
      const followers = [await follow(first), await follow(last)];
      for (let count = 0; count < 120; count++) first.happen(`a${count}`);
      last.happen('b0');
      const expected = Array.from({ length: 120 }, (_, count) => `a${count}`);
      for (const { names } of followers) {
        await until(() => names().length >= 121);
        expect(names()).toHaveLength(121);
        expect(names()).toContain('b0');
        expect(names().filter((one) => one !== 'b0')).toEqual(expected);
      }
    });

    it('continues after the last event, on the same node and on another', async () => {
      const { first, last } = await start();
      const { seen, stop } = await follow(first);
      for (const id of ['1', '2', '3']) first.happen(id);
      await until(() => seen.length === 3);
      stop();
      const [, second] = seen;
      if (second === undefined || second === 'gap') throw new Error('not an event');
      last.happen('4');
      for (const node of [first, last]) {
        const resumed = await follow(node, second.id);
        await until(() => resumed.seen.length === 2);
        expect(resumed.names()).toEqual(['3', '4']);
      }
      first.happen('5');
      expect(seen).toHaveLength(3);
    });

    it('reports a gap when it cannot continue', async () => {
      const { first } = await start();
      for (const id of ['another-5', '1-0.0', 'not an id']) {
        const { names } = await follow(first, id);
        await until(() => names()[0] === 'gap');
        first.happen('later');
        await until(() => names().includes('later'));
      }
    });

    it('starts with new events for a follower without an id', async () => {
      const { first, last } = await start();
      const early = await follow(last);
      first.happen('before');
      await until(() => early.seen.length === 1);
      const { seen, names } = await follow(last);
      first.happen('after');
      await until(() => seen.length === 1);
      expect(names()).toEqual(['after']);
    });
  });
}
