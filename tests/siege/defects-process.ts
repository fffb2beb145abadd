import { execFileSync } from 'node:child_process';
import { existsSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';

import { tempDir } from '@footbridge/testkit/cleanup';
import { Service } from '@footbridge/testkit/service';

import { restore } from '../../packages/maintenance/src/restore.ts';
import { depsOf, sealedBackup } from '../maintenance/maintenance-setup.ts';
import type { Attack } from './attacks.ts';
import { startStage } from './stage.ts';

/** What other processes, the supervisor and the machine do to a service. */
export const PROCESS_DEFECTS: Readonly<Record<string, Attack>> = {
  'a second service on the same DATA_DIR': async ({ service }, cleanup) => {
    const second = new Service({ dataDir: service.dataDir, readyWithin: 30_000 });
    cleanup.add(() => second.stop());
    const hasStarted = await second.start().then(
      () => true,
      () => false,
    );
    const names = second.logs.some(({ msg }) => msg.includes(`process ${service.pid}`));
    return { verify: async () => (hasStarted || !names ? 'the second service is not refused' : undefined) };
  },

  'a tampered backup': async (_stage, cleanup) => {
    const folder = await tempDir(cleanup);
    const backup = await sealedBackup(join(folder, 'backup'), {
      databases: [{ name: 'main', engine: 'sqlite', migration: '0001-first', tables: [] }],
      files: { '../outside': 'x' },
    });
    await restore(depsOf({ DATA_DIR: join(folder, 'data') }), backup).catch(() => {});
    return {
      verify: async () => (existsSync(join(folder, 'outside')) ? 'a file outside is written' : undefined),
    };
  },

  'SIGUSR1, which opens a debugger': async ({ service }) => {
    process.kill(service.pid, 'SIGUSR1');
    return {
      async verify() {
        const isOpen = service.logs.some(({ msg }) => msg.includes('Debugger listening'));
        return isOpen ? 'the debugger listens' : undefined;
      },
    };
  },

  'SIGHUP with a pipe and an empty list as key file': async (_stage, cleanup) => {
    const file = join(await tempDir(cleanup), 'keys.json');
    const stage = await startStage(cleanup, async (crm) => {
      const { publicKey, header } = crm.key;
      writeFileSync(file, JSON.stringify([{ label: 'file', scheme: 'Ed25519', header, publicKey }]));
      return { CRM_PUBLIC_KEY: '', CRM_KEYS_FILE: file };
    });
    writeFileSync(file, '[]');
    process.kill(stage.service.pid, 'SIGHUP');
    await stage.service.logged('settings invalid, the former keys stay in use', 5000).catch(() => {});
    rmSync(file);
    execFileSync('mkfifo', [file]);
    process.kill(stage.service.pid, 'SIGHUP');
    return { on: stage };
  },

  "another process with SQLite's write lock": async ({ service }, cleanup) => {
    const other = new DatabaseSync(join(service.dataDir, 'footbridge.sqlite'), { timeout: 5000 });
    other.exec('begin immediate');
    cleanup.add(() => other.close());
    return {
      async verify() {
        other.exec('rollback');
        await service.logsNext('writes continue after a lock', 5000);
        const lines = service.logs.filter(({ msg }) => msg.startsWith('database locked'));
        return lines.length === 1 ? undefined : `${lines.length} lines in the log`;
      },
    };
  },
};
