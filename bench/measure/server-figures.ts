import { readFile } from 'node:fs/promises';
import { join } from 'node:path';

import type { Postgres } from '@footbridge/testkit/servers/postgres';
import { createClient } from '@redis/client';

import { cpuMicros } from './process-costs.ts';

/** Reads what Redis reports about itself. `requests` come from clients, `commands` from clients and scripts. */
export async function redisFigures(url: string) {
  const client = createClient({ url });
  await client.connect();
  const info = await client.sendCommand<string>(['INFO', 'ALL']);
  client.destroy();
  const value = (name: string) => Number(new RegExp(`^${name}[:=]([\\d.]+)`, 'm').exec(info)?.[1] ?? 0);
  const calls = (name: string) => value(`cmdstat_${name}:calls`);
  return {
    cpuMicros: (value('used_cpu_sys') + value('used_cpu_user')) * 1e6,
    commands: value('total_commands_processed'),
    requests: calls('evalsha') + calls('eval') + calls('publish') + calls('ping'),
    memoryBytes: value('used_memory'),
  };
}

/** Reads what PostgreSQL reports about one of its databases, and the CPU time of the server's processes. */
export async function postgresFigures(server: Postgres, database: string) {
  const [figures = {}] = await server.execute(
    database,
    `SELECT current_setting('data_directory') AS folder, pg_current_wal_lsn() - '0/0'::pg_lsn AS wal,
      (SELECT sum(pg_total_relation_size(c.oid)) FROM pg_class c
        WHERE c.relname IN ('messages', 'message_steps', 'inbound_guids')) AS tables,
      (SELECT xact_commit FROM pg_stat_database WHERE datname = current_database()) AS commits`,
  );
  const { folder, wal, tables, commits } = figures;
  const [pid = ''] = (await readFile(join(String(folder), 'postmaster.pid'), 'utf8')).split('\n');
  return {
    cpuMicros: cpuMicros(Number(pid)),
    walBytes: Number(wal),
    /** The tables of messages and claims with their indexes. */
    tableBytes: Number(tables),
    commits: Number(commits),
  };
}

/** Returns the difference of each figure, divided by `count`. */
export function since<Figures extends object>(before: Figures, after: Figures, count = 1): Figures {
  const entries = Object.entries(after).map(([name, value]) => [
    name,
    (Number(value) - Number(before[name as keyof Figures])) / count,
  ]);
  return Object.fromEntries(entries) as Figures;
}
