import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { promisify } from 'node:util';

import { startFaultProxy } from '@footbridge/testkit/fault-proxy';
import { hasPostgres, startPostgres } from '@footbridge/testkit/servers/postgres';
import { until } from '@footbridge/testkit/until';
import { sql } from 'kysely';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { StartError } from '../errors.ts';
import { databaseContract } from './database.contract.ts';
import { openDatabase } from './open-database.ts';

const folder = mkdtempSync(join(tmpdir(), 'footbridge-'));
let files = 0;
afterAll(() => rmSync(folder, { recursive: true }));

databaseContract('SQLite', async () => ({ engine: 'sqlite', file: join(folder, `${files++}.sqlite`) }));

describe.skipIf(!(await hasPostgres()))('with PostgreSQL', () => {
  let server: Awaited<ReturnType<typeof startPostgres>>;
  beforeAll(async () => {
    server = await startPostgres();
  });
  afterAll(() => server.stop());
  databaseContract('PostgreSQL', async () => ({ engine: 'postgres', url: await server.createDatabase() }));

  it('fails only the transaction whose connection breaks between two statements', async () => {
    const proxy = await startFaultProxy({ to: server.url });
    const database = await openDatabase(
      { engine: 'postgres', url: proxy.url(await server.createDatabase()) },
      () => {},
    );
    const { db } = database;
    const broken = db.transaction().execute(async (trx) => {
      await sql`select 1`.execute(trx);
      await proxy.down();
      // The connection reports the error while it is idle.
      await setTimeout(100);
      await sql`select 2`.execute(trx);
    });
    await expect(broken).rejects.toThrow(/connection|terminated/i);
    await proxy.up();
    await expect(sql`select 3 as three`.execute(db)).resolves.toMatchObject({ rows: [{ three: 3 }] });
    await database.close();
    await proxy.stop();
  });

  it('fails only the statement whose server shuts down right after the connection is ready', async () => {
    const url = await server.createDatabase();
    const { hostname, port } = new URL(url);
    const { promise: closed, resolve: onClosed } = Promise.withResolvers<void>();
    let shutsDown = false;
    // ReadyForQuery, and in the same packet the error that PostgreSQL sends when it shuts down.
    const ready = Buffer.from('Z\0\0\0\u0005I');
    const fields = Buffer.from('SFATAL\0VFATAL\0C57P01\0Mterminating connection\0\0');
    const shutdown = Buffer.concat([Buffer.from([69, 0, 0, 0, fields.length + 4]), fields]);
    const between = createServer((client) => {
      const upstream = connect(Number(port), hostname);
      client.pipe(upstream);
      upstream.on('data', (chunk: Buffer) => {
        if (!shutsDown || !chunk.subarray(-ready.length).equals(ready)) return client.write(chunk);
        shutsDown = false;
        client.end(Buffer.concat([chunk, shutdown]), onClosed);
        return upstream.destroy();
      });
      for (const socket of [client, upstream]) socket.on('error', () => {});
      client.on('close', () => upstream.destroy());
    });
    await new Promise<void>((resolve) => between.listen(0, '127.0.0.1', resolve));
    const address = between.address();
    const through = new URL(url);
    through.port = String(typeof address === 'object' ? address?.port : '');
    const database = await openDatabase({ engine: 'postgres', url: through.href }, () => {});
    shutsDown = true;
    const queries = await Promise.allSettled(
      Array.from({ length: 3 }, () => sql`select pg_sleep(0.1)`.execute(database.db)),
    );
    await closed;
    expect(queries.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'fulfilled', 'rejected']);
    await expect(sql`select 3 as three`.execute(database.db)).resolves.toMatchObject({
      rows: [{ three: 3 }],
    });
    await database.close();
    between.close();
  });

  it('times out when the server stops responding, also in a transaction, and discards the connections', async () => {
    const proxy = await startFaultProxy({ to: server.url });
    const database = await openDatabase(
      { engine: 'postgres', url: proxy.url(await server.createDatabase()) },
      () => {},
      1500,
    );
    const { db } = database;
    const silence = proxy.add({ type: 'timeout' });
    const queries = [
      sql`select 1`.execute(db),
      db.transaction().execute((trx) => sql`select 2`.execute(trx)),
    ].map((query) => query.then(() => 'completed', String));
    for (const outcome of await Promise.all(queries)) expect(outcome).toMatch(/timeout|terminated/i);
    silence.remove();
    const result = await until(() => sql`select 3 as three`.execute(db).catch(() => undefined));
    expect(result.rows).toEqual([{ three: 3 }]);
    await database.close();
    await proxy.stop();
  });

  it('H1 a ping fails while the server accepts no writes, and connects again when another one has taken its place', async () => {
    const url = await server.createDatabase();
    const name = new URL(url).pathname.slice(1);
    const database = await openDatabase({ engine: 'postgres', url }, () => {});
    const setReadOnly = (value: 'on' | 'off') =>
      server.execute(server.url, `alter database ${name} set default_transaction_read_only = ${value}`);
    await database.ping();
    await setReadOnly('on');
    await server.execute(
      server.url,
      `select pg_terminate_backend(pid) from pg_stat_activity where datname = '${name}'`,
    );
    await until(() => database.ping().catch(({ code }: { code?: string }) => code === '25006'));
    // Sessions that are open keep the old value.
    await setReadOnly('off');
    await until(
      () =>
        database.ping().then(
          () => true,
          () => false,
        ),
      { within: 5000 },
    );
    await database.close();
  });
});

it('migrates a file once when several processes start together', async () => {
  const file = join(folder, 'shared.sqlite');
  const code = `import { openDatabase } from ${JSON.stringify(new URL('open-database.ts', import.meta.url).href)};
    const { close } = await openDatabase({ engine: 'sqlite', file: ${JSON.stringify(file)} }, () => {}); await close();`;
  const start = () =>
    promisify(execFile)(process.execPath, [
      '--disable-warning=ExperimentalWarning',
      '--input-type=module',
      '-e',
      code,
    ]);
  await expect(Promise.all([start(), start(), start()])).resolves.toHaveLength(3);
});

describe('openDatabase', () => {
  const faultOf = (choice: Parameters<typeof openDatabase>[0]) =>
    openDatabase(choice, () => {}).then(
      () => 'opened',
      (error: unknown) => (error instanceof StartError ? error.problems : 'another error'),
    );

  it('reports a file that is not a database in one line', async () => {
    const file = join(folder, 'broken.sqlite');
    writeFileSync(file, 'this is not a database, but it is long enough to have a header '.repeat(10));
    expect(await faultOf({ engine: 'sqlite', file })).toEqual([
      expect.stringContaining('not a SQLite database'),
    ]);
  });

  it('reports a folder that cannot be created in one line', async () => {
    writeFileSync(join(folder, 'a-file'), '');
    expect(await faultOf({ engine: 'sqlite', file: join(folder, 'a-file', 'x.sqlite') })).toEqual([
      expect.stringContaining('cannot be opened'),
    ]);
  });

  it('reports an address where nothing listens in one line', async () => {
    expect(await faultOf({ engine: 'postgres', url: 'postgres://user@127.0.0.1:1/none' })).toEqual([
      'the database cannot be used: nothing listens at its address; check that PostgreSQL is running',
    ]);
  });
});
