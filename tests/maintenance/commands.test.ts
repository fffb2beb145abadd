import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';

import { EXIT } from '@footbridge/cli/cli-error';
import { migrateSqlite } from '@footbridge/service/platform/sql/migrate';
import { MIGRATIONS } from '@footbridge/service/platform/sql/migrations';
import { createCleanup, tempDir } from '@footbridge/testkit/cleanup';
import { afterAll, describe, expect, it } from 'vitest';

import { runCli } from '../cli/run-cli.ts';

const cleanup = createCleanup();
afterAll(() => cleanup.run());

const ALL = Object.keys(MIGRATIONS);

describe('footbridge migrate', () => {
  it('--check lists the pending migrations and changes nothing; without it they are applied', async () => {
    const folder = await tempDir(cleanup);
    const file = join(folder, 'footbridge.sqlite');
    const env = { DATA_DIR: folder };
    const none = await runCli(['migrate', '--check'], folder, env);
    expect(none.code).toBe(EXIT.checkFailed);
    expect(none.lines).toEqual([{ database: 'main', applied: 0, pending: ALL }]);
    expect(existsSync(file)).toBe(false);

    const sqlite = new DatabaseSync(file);
    await migrateSqlite(sqlite, { to: ALL[1] ?? '' });
    sqlite.close();
    const some = await runCli(['migrate', '--check'], folder, env);
    expect(some.lines).toEqual([{ database: 'main', applied: 2, pending: ALL.slice(2) }]);

    const made = await runCli(['migrate'], folder, env);
    expect(made.code).toBe(EXIT.done);
    expect(made.lines).toEqual([{ database: 'main', applied: ALL.length, changed: ALL.slice(2) }]);
    const done = await runCli(['migrate', '--check'], folder, env);
    expect(done.code).toBe(EXIT.done);
    expect(done.lines).toEqual([{ database: 'main', applied: ALL.length, pending: [] }]);
  });

  it('refuses a database of a newer version with one line', async () => {
    const folder = await tempDir(cleanup);
    const sqlite = new DatabaseSync(join(folder, 'footbridge.sqlite'));
    await migrateSqlite(sqlite, { migrations: { ...MIGRATIONS, '9999-newer': { up: async () => {} } } });
    sqlite.close();
    const refused = await runCli(['migrate', '--check'], folder, { DATA_DIR: folder });
    expect(refused.code).toBe(EXIT.failed);
    expect(JSON.parse(refused.stderr)).toMatchObject({
      code: 'DATABASE_NEWER',
      error: expect.stringContaining('9999-newer'),
    });
  });

  it('reports a database that cannot be reached with one line', async () => {
    const folder = await tempDir(cleanup);
    const env = { DATA_DIR: folder, DATABASE_URL: 'postgres://user:canary@127.0.0.1:1/none' };
    const refused = await runCli(['migrate', '--check'], folder, env);
    expect(refused.code).toBe(EXIT.unreachable);
    expect(refused.stderr.trim().split('\n')).toHaveLength(1);
    expect(refused.stderr).not.toContain('canary');
  });
});

describe('footbridge config check', () => {
  it('accepts defaults', async () => {
    const folder = await tempDir(cleanup);
    const { code, lines } = await runCli(['config', 'check'], folder);
    expect(code).toBe(EXIT.done);
    expect(lines).toMatchObject([{ check: 'settings', state: 'pass' }]);
  });

  it('reports invalid values, conflicts, incomplete groups and unknown names in .env at once, without printing values', async () => {
    const folder = await tempDir(cleanup);
    writeFileSync(
      join(folder, '.env'),
      [
        'PORT=4600',
        'ADMIN_PORT=4600',
        'LOCATION_CLAIM=canary',
        'DATABSE_URL=postgres://canary',
        'UNRELATED=canary',
        'CRM_OAUTH_CLIENT_ID=canary',
        'ALERT_WEBHOOK_URL=https://canary.example',
        'OPERATOR_TOKEN=canary-0123456789abcdef',
        'OPERATOR_TOKEN_FILE=canary',
        'FOOTBRIDGE_PROFILE=work',
      ].join('\n'),
    );
    const { code, lines, stdout } = await runCli(['config', 'check'], folder);
    expect(code).toBe(EXIT.checkFailed);
    expect(lines.map(({ state, sentence }) => `${String(state)}: ${String(sentence)}`)).toEqual([
      'fail: LOCATION_CLAIM must be one of auto, first, operator',
      'fail: ADMIN_PORT must differ from PORT: both listeners would use the same address',
      'fail: ALERT_WEBHOOK_SECRET is required with ALERT_WEBHOOK_URL',
      'warn: CRM_OAUTH_CLIENT_ID has no effect without CRM_OAUTH_ENABLED=true',
      'warn: OPERATOR_TOKEN_FILE has no effect: OPERATOR_TOKEN is also set and takes precedence',
      'warn: DATABSE_URL is not a setting; did you mean DATABASE_URL?',
      'warn: UNRELATED is not a setting',
    ]);
    expect(stdout).not.toContain('canary');
  });
});
