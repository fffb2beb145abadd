import { createLogger } from '../../log.ts';
import { createMemoryChanges } from './changes-memory.ts';
import { changesContract } from './changes.contract.ts';

changesContract('memory', async () => {
  const changes = createMemoryChanges(createLogger('silent'));
  return { nodes: [changes], close: () => changes.close() };
});
