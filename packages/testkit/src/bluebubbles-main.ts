import { parseArgs } from 'node:util';

import { MessagesHelper } from './bluebubbles/messages-helper.ts';
import { operationsOf } from './bluebubbles/operations.ts';
import { BlueBubblesServer } from './bluebubbles/server.ts';
import { StoreReader } from './bluebubbles/store-reader.ts';
import { createControl, remote } from './control.ts';
import { closeHttp, listen } from './loopback.ts';
import type { MessagesOperations } from './macos/operations.ts';

/** `node bluebubbles-main.ts --store CHAT_DB --macos CONTROL_URL [--port N]`. Prints one JSON line when it is ready. */
const { values } = parseArgs({
  options: {
    store: { type: 'string' },
    macos: { type: 'string' },
    port: { type: 'string', default: '0' },
  },
});
if (values.store === undefined || values.macos === undefined) {
  process.stderr.write('--store and --macos are required\n');
  process.exit(2);
}
const helper = new MessagesHelper(remote<MessagesOperations>(values.macos));
const server = new BlueBubblesServer(helper, new StoreReader(values.store));
await server.start(Number(values.port));
const control = createControl(operationsOf(server, helper));
const controlUrl = `http://127.0.0.1:${await listen(control)}`;

// Does not wait for calls that are still waiting for a row.
async function stop(): Promise<never> {
  await Promise.all([closeHttp(control), server.stop()]);
  process.exit(0);
}
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => void stop());

process.stdout.write(`${JSON.stringify({ msg: 'bluebubbles ready', url: server.url, controlUrl })}\n`);
