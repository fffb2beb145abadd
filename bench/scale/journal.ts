import { startPostgres } from '@footbridge/testkit/servers/postgres';

import { startWorker } from '../environment/worker.ts';
import type { Pinning } from '../measure/pinning.ts';
import type { JournalCalls } from './journal-process.ts';
import { postgresFigures, since } from './server-figures.ts';

export interface JournalFigures {
  readonly way: 'outbound' | 'inbound';
  readonly processes: number;
  readonly messages: number;
  readonly perSec: number;
  readonly postgresMicros: number;
  readonly tableBytes: number;
  readonly walBytes: number;
  readonly messagesPerCommit: number;
}

/** As in production: a committed row survives a crash of the machine. */
const DURABLE = { fsync: 'on', full_page_writes: 'on', shared_buffers: '256MB' };

/** Writes messages and claims from several processes at once. Costs are per message. */
export async function measureJournal(
  { processes, messages }: { processes: number; messages: number },
  pinning: Pinning,
): Promise<JournalFigures[]> {
  const server = await startPostgres(DURABLE);
  const nodes = Array.from({ length: processes }, () =>
    startWorker<JournalCalls>(new URL('journal-process.ts', import.meta.url), pinning),
  );
  const figures: JournalFigures[] = [];
  try {
    const url = await server.createDatabase();
    for (const node of nodes) await node.call('open', url);
    for (const way of ['outbound', 'inbound'] as const) {
      const each = Math.ceil(messages / processes);
      const total = each * processes;
      const [before, startedAt] = [await postgresFigures(server, url), performance.now()];
      await Promise.all(nodes.map((node) => node.call(way, each)));
      const seconds = (performance.now() - startedAt) / 1000;
      const used = since(before, await postgresFigures(server, url));
      figures.push({
        way,
        processes,
        messages: total,
        perSec: total / seconds,
        postgresMicros: used.cpuMicros / total,
        tableBytes: used.tableBytes / total,
        walBytes: used.walBytes / total,
        messagesPerCommit: total / used.commits,
      });
    }
  } finally {
    await Promise.all(nodes.map((node) => node.stop()));
    await server.stop();
  }
  return figures;
}
