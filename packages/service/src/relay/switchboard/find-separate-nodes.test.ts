import { expect, it } from 'vitest';

import { separateNodes } from './find-separate-nodes.ts';

it('nodes that do not see each other are one issue with all causes', () => {
  const [found] = separateNodes(new Set(['redis', 'secret'] as const));
  expect(found?.kind).toBe('nodes_separate');
  expect(found?.sentence).toMatch(
    /^Nodes of this database have different values of NODE_SECRET, or use different Redis servers: /,
  );
  expect(found?.action).toMatch(/^Set NODE_SECRET .* Set REDIS_URL /);
  expect(separateNodes(new Set())).toEqual([]);
});
