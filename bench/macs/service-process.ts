// Runs only the service in this process, so that all of its memory and CPU belong to the service.
import process from 'node:process';

import { createLog } from '@footbridge/runtime/log';
import { keepNextTickFast, tuneCollections } from '@footbridge/runtime/tune-v8';
import { createBridge } from '@footbridge/service/compose';
import type { Bridge } from '@footbridge/service/compose';
import { loadConfig } from '@footbridge/service/config';
import { createCleanup, tempDir } from '@footbridge/testkit/cleanup';

import { clock, serveServer } from './process-report.ts';

keepNextTickFast();
const cleanup = createCleanup();
let bridge: Bridge | undefined;

serveServer({
  async open() {
    const { config } = loadConfig({ ...process.env, DATA_DIR: await tempDir(cleanup) });
    const destination = { write: (line: string) => void process.stderr.write(line) };
    bridge = await createBridge(config, { log: createLog(config.logLevel, { destination }), clock });
    tuneCollections();
    const { url, operatorUrl, operatorToken } = bridge;
    return { url, operatorUrl, operatorToken };
  },
  async close() {
    await bridge?.close();
    await cleanup.run();
  },
});
