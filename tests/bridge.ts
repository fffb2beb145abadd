import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { systemClock } from '@footbridge/runtime/clock';
import type { Clock } from '@footbridge/runtime/clock';
import { createLog } from '@footbridge/runtime/log';
import { createBridge } from '@footbridge/service/compose';
import type { Bridge } from '@footbridge/service/compose';
import { loadConfig } from '@footbridge/service/config';

export interface RunningBridge extends Bridge {
  /** Every log line so far. */
  readonly logs: string[];
  readonly dataDir: string;
  stop(): Promise<void>;
}

/** The whole service in this process, on free ports and in a new folder, configured by environment variables. */
export async function startBridge(
  env: Record<string, string> = {},
  { clock = systemClock }: { clock?: Clock | undefined } = {},
): Promise<RunningBridge> {
  const dataDir = mkdtempSync(join(tmpdir(), 'footbridge-'));
  const logs: string[] = [];
  const { config } = loadConfig({
    DATABASE_URL: `sqlite:${join(env['DATA_DIR'] ?? dataDir, 'footbridge.sqlite')}`,
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
  const bridge = await createBridge(config, { log, clock });
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
