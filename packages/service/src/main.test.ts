import { execFileSync, spawnSync } from 'node:child_process';
import { chmodSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';

import { createCleanup, tempDir } from '@footbridge/testkit/cleanup';
import { ed25519Key, signBody } from '@footbridge/testkit/keys';
import { Service, startService } from '@footbridge/testkit/service';
import { until } from '@footbridge/testkit/until';
import { afterEach, describe, expect, it } from 'vitest';

import { readStored, TEXTS } from './platform/sql/queries.ts';

const cleanup = createCleanup();
afterEach(() => cleanup.run());

const MAIN = join(import.meta.dirname, 'main.ts');
const { version } = createRequire(import.meta.url)('../package.json') as { version: string };

/** Runs the program in an empty folder. It is killed if it starts instead of exiting. */
async function run(...args: string[]) {
  const cwd = await tempDir(cleanup);
  const { PATH, NODE_COMPILE_CACHE } = process.env;
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    ['--disable-warning=ExperimentalWarning', MAIN, ...args],
    {
      cwd,
      env: { PATH, NODE_COMPILE_CACHE, PORT: '0', ADMIN_PORT: '0', HOST: '127.0.0.1' },
      encoding: 'utf8',
      timeout: 60_000,
    },
  );
  return { status, stdout, stderr, files: readdirSync(cwd) };
}

describe('the arguments of the service', () => {
  it.each(['--help', '-h'])('%s prints the help and does not start the service', async (flag) => {
    const { status, stdout, stderr, files } = await run(flag);
    expect({ status, stderr, files }).toEqual({ status: 0, stderr: '', files: [] });
    expect(stdout).toMatch(/^Usage: npm start/);
  });

  it('--version prints the version', async () => {
    expect(await run('--version')).toEqual({ status: 0, stdout: `${version}\n`, stderr: '', files: [] });
  });

  it.each([[['--port', '80']], [['--help', '--por']], [['start']]])(
    '%j is rejected with one line and exit code 2',
    async (args) => {
      const { status, stdout, stderr, files } = await run(...args);
      expect({ status, stdout, files }).toEqual({ status: 2, stdout: '', files: [] });
      expect(stderr).toMatch(/^footbridge: unknown argument (--port|--por|start);.*--help\n$/);
    },
  );
});

describe('the supervisor of the service', () => {
  it('S5 makes it reload the keys of the settings with SIGHUP, and it keeps the former ones when the new ones are invalid', async () => {
    const file = join(await tempDir(cleanup), 'keys.json');
    const [former, next] = [ed25519Key('former'), ed25519Key('next')];
    const write = (...keys: (typeof former)[]) =>
      writeFileSync(
        file,
        JSON.stringify(
          keys.map(({ publicKey, header }) => ({ label: 'file', scheme: 'Ed25519', header, publicKey })),
        ),
      );
    write(former);
    const service = await startService({ env: { CRM_KEYS_FILE: file } });
    cleanup.add(() => service.stop());
    const body = JSON.stringify({ locationId: 'L', contactId: 'c', phone: '+14155550100', message: 'Hello' });
    const statusWith = async (key: typeof former) => {
      const headers = { 'Content-Type': 'application/json', [key.header]: signBody(body, key) };
      return (await fetch(`${service.url}/crm/webhook`, { method: 'POST', headers, body })).status;
    };
    expect([await statusWith(former), await statusWith(next)]).toEqual([404, 401]);

    write(next);
    process.kill(service.pid, 'SIGHUP');
    await service.logged('keys of the settings reloaded');
    expect([await statusWith(former), await statusWith(next)]).toEqual([401, 404]);

    const pipe = () => {
      rmSync(file);
      execFileSync('mkfifo', [file]);
    };
    for (const [change, problem] of [
      [() => writeFileSync(file, 'not JSON'), 'CRM_KEYS_FILE is not JSON'],
      [() => write(), 'CRM_KEYS_FILE: the file: has no keys'],
      [pipe, 'CRM_KEYS_FILE names a file that cannot be read; check that it is a regular file'],
    ] as const) {
      change();
      const rejected = service.logsNext('settings invalid, the former keys stay in use');
      process.kill(service.pid, 'SIGHUP');
      expect((await rejected)['problems']).toEqual([expect.stringContaining(problem)]);
      expect([await statusWith(former), await statusWith(next)]).toEqual([401, 404]);
    }

    // The same list prevents a start.
    await service.halt();
    await expect(service.start()).rejects.toThrow();
    expect(await service.exited).toMatchObject({ code: 3 });
  }, 120_000);

  it('T56 cannot open its debugger with SIGUSR1', async () => {
    const service = await startService();
    cleanup.add(() => service.stop());
    process.kill(service.pid, 'SIGUSR1');
    await sleep(500);
    expect((await fetch(`${service.url}/health`)).status).toBe(200);
    expect(service.logs.filter(({ msg }) => msg.includes('Debugger'))).toEqual([]);
  });

  it('tells systemd when it is ready and when it stops', async () => {
    const folder = await tempDir(cleanup);
    const told = join(folder, 'told');
    const program = join(folder, 'systemd-notify');
    writeFileSync(program, `#!/bin/sh\necho "$1" >> ${told}\n`);
    chmodSync(program, 0o755);
    const service = await startService({
      env: { NOTIFY_SOCKET: '/run/notify', PATH: `${folder}:${process.env['PATH'] ?? ''}` },
    });
    cleanup.add(() => service.stop());
    await until(() => readdirSync(folder).includes('told'));
    await service.halt();
    await until(() => readFileSync(told, 'utf8') === 'READY=1\nSTOPPING=1\n');
  });
});

describe('a second service', () => {
  it('T68 ends with 1 on the data of a running service, which it names, and starts once that one was killed', async () => {
    const first = await startService();
    cleanup.add(() => first.stop());
    const file = join(first.dataDir, 'footbridge.sqlite');
    const elsewhere = await tempDir(cleanup);
    // The same folder, and the same database from another folder.
    for (const [dataDir, what] of [
      [first.dataDir, `DATA_DIR ${first.dataDir}`],
      [elsewhere, `the database file ${file}`],
    ] as const) {
      const second = new Service({ dataDir, env: { DATABASE_URL: `sqlite:${file}` } });
      cleanup.add(() => second.stop());
      await expect(second.start()).rejects.toThrow();
      expect(await second.exited).toEqual({ code: 1, signal: null });
      const line = `footbridge: another Footbridge uses ${what} (process ${first.pid}); `;
      expect(second.logs.at(-1)?.msg).toContain(line);
    }
    expect((await fetch(`${first.url}/health`)).status).toBe(200);

    await first.kill9();
    const next = new Service({ dataDir: first.dataDir });
    cleanup.add(() => next.stop());
    await next.start();
  });
});

/** Sends SIGINT to its own process again, as npm does. */
const REPEAT = "process.once('SIGINT', () => process.kill(process.pid, 'SIGINT'));";

describe('Control-C', () => {
  it('stops the service gracefully although npm repeats the SIGINT, and ends it at once when pressed again', async () => {
    const NODE_OPTIONS = `--import=data:text/javascript,${encodeURIComponent(REPEAT)}`;
    const service = await startService({ env: { DRAIN_GRACE_SEC: '60', NODE_OPTIONS } });
    cleanup.add(() => service.stop());
    // A stopping service waits for idle connections, such as the one that this request leaves open.
    await (await fetch(`${service.url}/health`)).text();
    process.kill(service.pid, 'SIGINT');
    await service.logged('stopping');
    await sleep(1000);
    expect(service.isRunning).toBe(true);
    process.kill(service.pid, 'SIGINT');
    expect(await service.exited).toEqual({ code: 130, signal: null });
  });
});

/** Returns the modules that the program has loaded when it stops. */
async function loadedBy(main: string): Promise<string[]> {
  const file = join(await tempDir(cleanup), 'loaded.json');
  const report = `import { writeFileSync } from 'node:fs';
    import { createRequire } from 'node:module';
    const { cache } = createRequire(${JSON.stringify(file)});
    process.on('exit', () => {
      const loaded = [...process.moduleLoadList, ...Object.keys(cache)];
      writeFileSync(${JSON.stringify(file)}, JSON.stringify(loaded));
    });`;
  const env = { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(report)}` };
  const service = await startService({ main, env });
  await service.stop();
  return [...readStored(TEXTS, readFileSync(file, 'utf8'))];
}

it('the service loads neither the built-in fetch nor a library that no setting requires', async () => {
  const fromSource = join(await tempDir(cleanup), 'from-source.mjs');
  writeFileSync(fromSource, `await import(${JSON.stringify(pathToFileURL(MAIN).href)});`);
  const loaded = await loadedBy(fromSource);
  expect(loaded.some((name) => name.includes('node_modules/fastify/'))).toBe(true);
  const notRequired = /internal\/deps\/undici|node_modules\/(ajv|nodemailer|pg|@redis|s3mini)\//;
  expect(loaded.filter((name) => notRequired.test(name))).toEqual([]);
  // A bundle does not show which libraries are in it.
  expect((await loadedBy(MAIN)).filter((name) => notRequired.test(name))).toEqual([]);
});
