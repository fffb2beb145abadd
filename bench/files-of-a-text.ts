// Lists the files of the service that run while one text goes out, or one comes in: node scripts/run.mjs bench/files-of-a-text.ts [inbound]
import { Session } from 'node:inspector/promises';
import process from 'node:process';
import { setTimeout as sleep } from 'node:timers/promises';

import { PHONE, TestBridge } from '../tests/contract/test-bridge.ts';

const SOURCE = '/packages/service/src/';
const bridge = await TestBridge.start({});
const mac = await bridge.mac();

async function out(messageId: string): Promise<void> {
  const { answer } = await bridge.webhook({ messageId });
  const { requestId } = answer as { requestId: string };
  await mac.nextFrame('send');
  mac.confirm(requestId);
  await mac.ack(mac.status({ requestId, messageId, status: 'delivered' }));
}

async function inward(guid: string): Promise<void> {
  await mac.ack(mac.received({ sender: PHONE, text: 'Hello', guid, sentAt: new Date().toISOString() }));
}

const pass = process.argv[2] === 'inbound' ? inward : out;
// The first one opens connections and fills caches.
await pass('text-1');
await sleep(1000);
const session = new Session();
session.connect();
await session.post('Profiler.enable');
await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false });
await session.post('Profiler.takePreciseCoverage');
await pass('text-2');
// The journal writes in the background.
await sleep(300);
const { result } = await session.post('Profiler.takePreciseCoverage');
const files = result
  .filter(
    ({ url, functions }) =>
      url.includes(SOURCE) && functions.some(({ ranges }) => (ranges[0]?.count ?? 0) > 0),
  )
  .map(({ url }) => url.slice(url.indexOf(SOURCE) + SOURCE.length))
  .toSorted();
await bridge.stop();
for (const file of files) console.log(file);
console.log(`${files.length} files`);
process.exit(0);
