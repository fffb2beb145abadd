// Runs only the service in this process, so that all of its memory and CPU belong to the service.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';

import { createLog } from '@footbridge/runtime/log';
import { keepNextTickFast, tuneCollections } from '@footbridge/runtime/tune-v8';
import { createBridge } from '@footbridge/service/compose';
import type { Bridge } from '@footbridge/service/compose';
import { loadConfig } from '@footbridge/service/config';
import { serveReports } from './process-report.ts';

keepNextTickFast();
const folder = mkdtempSync(join(tmpdir(), 'footbridge-'));
const { config } = loadConfig({ ...process.env, DATA_DIR: folder });
const log = createLog(config.logLevel, { destination: { write: (line) => void process.stderr.write(line) } });
let bridge: Bridge | undefined;
const { clock } = serveReports(async () => {
  await bridge?.close();
  rmSync(folder, { recursive: true, force: true });
});
bridge = await createBridge(config, { log, clock });
tuneCollections();
process.send?.({ url: bridge.url, operatorUrl: bridge.operatorUrl, operatorToken: bridge.operatorToken });
