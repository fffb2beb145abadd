import { until } from '@footbridge/testkit/until';
import { afterEach, describe, expect, it } from 'vitest';

import type { Changes, Topic } from './changes.ts';

export interface ChangesEngine {
  /** One or more nodes that must hear each other. */
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

    it('M8 a change is heard on this node before the announcement resolves', async () => {
      const { first } = await start();
      const heard = listenTo(first, 'license');
      await first.announce('license', 'lic-1');
      expect(heard).toEqual(['lic-1']);
    });

    it('M8 a change is heard on every node, once and in order', async () => {
      const { nodes, first } = await start();
      const heard = nodes.map((node) => listenTo(node, 'device'));
      const others = nodes.map((node) => listenTo(node, 'location'));
      const subjects = Array.from({ length: 20 }, (_, index) => `dev-${index}`);
      for (const subject of subjects) await first.announce('device', subject);
      await until(() => heard.every((list) => list.length >= subjects.length));
      expect(heard).toEqual(nodes.map(() => subjects));
      expect(others).toEqual(nodes.map(() => []));
    });

    it('M8 announcements of all nodes at once are all heard by all', async () => {
      const { nodes } = await start();
      const heard = nodes.map((node) => listenTo(node, 'license'));
      const ofNode = (node: number) => Array.from({ length: 20 }, (_, index) => `lic-${node}-${index}`);
      const subjects = nodes.flatMap((_, node) => ofNode(node));
      await Promise.all(
        nodes.flatMap((node, n) => ofNode(n).map((subject) => node.announce('license', subject))),
      );
      await until(() => heard.every((list) => list.length >= subjects.length));
      for (const list of heard) expect(list.toSorted()).toEqual(subjects.toSorted());
    });

    it('M8 a listener that throws does not keep the others from hearing', async () => {
      const { first } = await start();
      first.listen('grant', () => {
        throw new Error('a faulty listener');
      });
      const heard = listenTo(first, 'grant');
      await first.announce('grant', 'loc1');
      expect(heard).toEqual(['loc1']);
    });

    it('M8 who stopped listening hears nothing, the others still do', async () => {
      const { first } = await start();
      const gone: string[] = [];
      const stop = first.listen('keys', (subject) => gone.push(subject));
      const heard = listenTo(first, 'keys');
      stop();
      stop();
      await first.announce('keys', 'key-1');
      expect([gone, heard]).toEqual([[], ['key-1']]);
    });
  });
}

function listenTo(node: Changes, topic: Topic): string[] {
  const heard: string[] = [];
  node.listen(topic, (subject) => heard.push(subject));
  return heard;
}
