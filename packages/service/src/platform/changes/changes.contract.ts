import { until } from '@footbridge/testkit/until';
import { afterEach, describe, expect, it } from 'vitest';

import { TOPICS } from './changes.ts';
import type { Changes, Topic } from './changes.ts';

export interface ChangesEngine {
  /** One or more nodes that notify each other. */
  readonly nodes: readonly Changes[];
  close(): Promise<void>;
}

export function changesContract(name: string, createEngine: () => Promise<ChangesEngine>): void {
  describe(`changes: ${name}`, () => {
    const engines: ChangesEngine[] = [];
    afterEach(async () => {
      for (const engine of engines.splice(0)) await engine.close();
    });
    const start = async () => {
      const engine = await createEngine();
      engines.push(engine);
      const [first] = engine.nodes;
      if (first === undefined) throw new Error('an engine needs a node');
      return { nodes: engine.nodes, first };
    };

    it('M8 calls the listeners of this node before the announcement resolves', async () => {
      const { first } = await start();
      const received = listenTo(first, 'license');
      await first.announce('license', 'lic-1');
      expect(received).toEqual(['lic-1']);
    });

    it('M8 notifies every node, once and in order', async () => {
      const { nodes, first } = await start();
      const received = nodes.map((node) => listenTo(node, 'device'));
      const others = nodes.map((node) => listenTo(node, 'location'));
      const subjects = Array.from({ length: 20 }, (_, index) => `dev-${index}`);
      for (const subject of subjects) await first.announce('device', subject);
      await until(() => received.every((list) => list.length >= subjects.length));
      expect(received).toEqual(nodes.map(() => subjects));
      expect(others).toEqual(nodes.map(() => []));
    });

    it('M8 notifies every node of every topic', async () => {
      const { nodes, first } = await start();
      const received = nodes.map((node) => TOPICS.map((topic) => listenTo(node, topic)));
      for (const topic of TOPICS) await first.announce(topic, 'subject');
      await until(() => received.flat().every((list) => list.length > 0));
    });

    it('M8 notifies all nodes of simultaneous announcements by all nodes', async () => {
      const { nodes } = await start();
      const received = nodes.map((node) => listenTo(node, 'license'));
      const ofNode = (node: number) => Array.from({ length: 20 }, (_, index) => `lic-${node}-${index}`);
      const subjects = nodes.flatMap((_, node) => ofNode(node));
      await Promise.all(
        nodes.flatMap((node, n) => ofNode(n).map((subject) => node.announce('license', subject))),
      );
      await until(() => received.every((list) => list.length >= subjects.length));
      for (const list of received) expect(list.toSorted()).toEqual(subjects.toSorted());
    });

    it('M8 calls the other listeners when one throws', async () => {
      const { first } = await start();
      first.listen('grant', () => {
        throw new Error('a faulty listener');
      });
      const received = listenTo(first, 'grant');
      await first.announce('grant', 'loc1');
      expect(received).toEqual(['loc1']);
    });

    it('M8 does not call a removed listener, but still calls the others', async () => {
      const { first } = await start();
      const removed: string[] = [];
      const stop = first.listen('keys', (subject) => removed.push(subject));
      const received = listenTo(first, 'keys');
      stop();
      stop();
      await first.announce('keys', 'key-1');
      expect([removed, received]).toEqual([[], ['key-1']]);
    });
  });
}

function listenTo(node: Changes, topic: Topic): string[] {
  const received: string[] = [];
  node.listen(topic, (subject) => received.push(subject));
  return received;
}
