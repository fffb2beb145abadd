import { createLog } from '@footbridge/runtime/log';

import { createMemoryChanges } from './changes-memory.ts';
import { changesContract } from './changes.contract.ts';

changesContract('memory', async () => {
  const changes = createMemoryChanges(createLog('silent'));
  return { nodes: [changes], close: () => changes.close() };
});
