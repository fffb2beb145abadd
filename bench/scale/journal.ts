import { startPostgres } from '@footbridge/testkit/servers/postgres';

import { startWorker } from '../environment/worker.ts';
import { UNPINNED } from '../measure/pinning.ts';
import { postgresFigures, since } from '../measure/server-figures.ts';
import type { JournalCalls } from './journal-process.ts';

/** As in production: a committed row survives a crash of the machine. */
const DURABLE = { fsync: 'on', full_page_writes: 'on', shared_buffers: '256MB' };

/** Writes messages and claims from several processes at once. Costs are per message. */
export async function measureJournal({ processes, messages }: { processes: number; messages: number }) {
  const server = await startPostgres(DURABLE);
  const nodes = Array.from({ length: processes }, () =>
    startWorker<JournalCalls>(new URL('journal-process.ts', import.meta.url), UNPINNED),
  );
  const each = Math.ceil(messages / processes);
  const total = each * processes;
  try {
    const url = await server.createDatabase();
    for (const node of nodes) await node.call('open', url);
    const measure = async (way: 'outbound' | 'inbound') => {
      const [before, startedAt] = [await postgresFigures(server, url), performance.now()];
      await Promise.all(nodes.map((node) => node.call(way, each)));
      const perSec = (1000 * total) / (performance.now() - startedAt);
      const { commits, ...used } = since(before, await postgresFigures(server, url), total);
      return { way, perSec, ...used, messagesPerCommit: 1 / commits };
    };
    return [await measure('outbound'), await measure('inbound')];
  } finally {
    await Promise.all(nodes.map((node) => node.stop()));
    await server.stop();
  }
}
