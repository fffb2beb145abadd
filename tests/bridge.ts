import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { systemClock } from '@footbridge/runtime/clock';
import type { Clock } from '@footbridge/runtime/clock';
import { createLog } from '@footbridge/runtime/log';
import { createBridge } from '@footbridge/service/compose';
import type { Bridge, Overrides } from '@footbridge/service/compose';
import { loadConfig } from '@footbridge/service/config';
import { openDatabase } from '@footbridge/service/platform/sql/open-database';

export interface RunningBridge extends Bridge {
  /** Every log line so far. */
  readonly logs: string[];
  readonly dataDir: string;
  stop(): Promise<void>;
}

let migrated: Promise<Buffer> | undefined;

/** Resolves with an empty database file. Migrating one takes a third of the CPU of a bridge that starts and stops. */
const migratedFile = () =>
  (migrated ??= (async () => {
    const folder = mkdtempSync(join(tmpdir(), 'footbridge-migrated-'));
    const file = join(folder, 'footbridge.sqlite');
    await (await openDatabase({ engine: 'sqlite', file }, () => {})).close();
    const content = readFileSync(file);
    rmSync(folder, { recursive: true });
    return content;
  })());

export interface StartOptions extends Pick<Overrides, 'placeListener'> {
  readonly clock?: Clock | undefined;
}

/** The whole service in this process, on free ports and in a new folder, configured by environment variables. */
export async function startBridge(
  env: Record<string, string> = {},
  { clock = systemClock, placeListener }: StartOptions = {},
): Promise<RunningBridge> {
  const dataDir = mkdtempSync(join(tmpdir(), 'footbridge-'));
  const logs: string[] = [];
  const folder = env['DATA_DIR'] ?? dataDir;
  const file = join(folder, 'footbridge.sqlite');
  if (env['DATABASE_URL'] === undefined && existsSync(folder) && !existsSync(file))
    writeFileSync(file, await migratedFile(), { mode: 0o600 });
  const { config } = loadConfig({
    DATABASE_URL: `sqlite:${file}`,
    PORT: '0',
    ADMIN_PORT: '0',
    HOST: '127.0.0.1',
    DATA_DIR: dataDir,
    DRAIN_GRACE_SEC: '0',
    // Tests have several licenses and assign no locations.
    LOCATION_CLAIM: 'first',
    // Tests repeat webhooks without a messageId.
    REPLAY_MEMORY: 'off',
    ...env,
  });
  const log = createLog('debug', { destination: { write: (line) => void logs.push(line) } });
  const bridge = await createBridge(config, { log, clock, placeListener });
  return {
    ...bridge,
    logs,
    dataDir,
    async stop() {
      await bridge.close();
      rmSync(dataDir, { recursive: true, force: true });
    },
  };
}
