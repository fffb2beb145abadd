import { silentLog } from '@footbridge/testkit/silent-log';

import { createMemoryChanges } from './changes-memory.ts';
import { changesContract } from './changes.contract.ts';

changesContract('memory', async () => {
  const changes = createMemoryChanges(silentLog);
  return { nodes: [changes], close: () => changes.close() };
});
