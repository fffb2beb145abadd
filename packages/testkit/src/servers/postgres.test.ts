import { readdir } from 'node:fs/promises';

import { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { findOnce } from './findings.ts';
import { hasPostgres, POSTGRES, startPostgres } from './postgres.ts';
import type { Postgres } from './postgres.ts';

describe.skipIf(!(await hasPostgres()))('PostgreSQL for tests', () => {
  let postgres: Postgres;
  beforeAll(async () => {
    postgres = await startPostgres();
  });
  afterAll(() => postgres.stop());

  it('creates separate databases', async () => {
    const [a, b] = await Promise.all([postgres.createDatabase(), postgres.createDatabase()]);
    await ask(a, 'CREATE TABLE only_here (n int)');
    await expect(ask(b, 'SELECT * FROM only_here')).rejects.toThrow('does not exist');
    expect(await ask(a, 'SHOW server_encoding')).toEqual([{ server_encoding: 'UTF8' }]);
  });

  it('keeps committed data after a restart and a kill -9', async () => {
    const url = await postgres.createDatabase();
    await ask(url, 'CREATE TABLE kept (n int)');
    await ask(url, 'INSERT INTO kept VALUES (1)');
    await postgres.restart();
    await ask(url, 'INSERT INTO kept VALUES (2)');
    await postgres.kill();
    await expect(ask(url, 'SELECT 1')).rejects.toThrow('ECONNREFUSED');
    await postgres.restart();
    expect(await ask(url, 'SELECT n FROM kept ORDER BY n')).toEqual([{ n: 1 }, { n: 2 }]);
  });

  it('is initialised once per run, and its servers start from copies', async () => {
    const { template } = await findOnce(POSTGRES);
    expect(await findOnce(POSTGRES)).toMatchObject({ template });
    const files = await readdir(template);
    expect(files).toContain('PG_VERSION');
    // A server writes this file when it starts.
    expect(files).not.toContain('postmaster.opts');
  });

  it('stops listening when it stops, also when it is stopped twice', async () => {
    const other = await startPostgres();
    await other.stop();
    await other.stop();
    await expect(ask(other.url, 'SELECT 1')).rejects.toThrow('ECONNREFUSED');
  });
});

async function ask(url: string, sql: string): Promise<unknown[]> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query<Record<string, unknown>>(sql)).rows;
  } finally {
    await client.end();
  }
}
