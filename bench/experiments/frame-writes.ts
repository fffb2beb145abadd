// Cost of writing one frame to a Mac: with `ws`, which passes header and text to the kernel as two buffers, and as one buffer like
// the service does. `node bench/experiments/frame-writes.ts`
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import process from 'node:process';
import { setImmediate, setTimeout } from 'node:timers/promises';

import { SUBPROTOCOL } from '@footbridge/protocol/frames';
import { WebSocket } from 'ws';

import { createSocketServer } from '@footbridge/service/relay/macs/mac-socket';
import type { MacSocket } from '@footbridge/service/relay/macs/mac-socket';
import { spread } from '../measure/statistics.ts';

const MACS = 100;
const FRAMES = 2000;
const ROUNDS = 20;

const port = process.argv[2];
if (port !== undefined) for (let mac = 0; mac < MACS; mac++) listenAt(port);
else await measure();

function listenAt(at: string): void {
  new WebSocket(`ws://127.0.0.1:${at}`, SUBPROTOCOL, { perMessageDeflate: false }).on('message', () => {});
}

async function measure(): Promise<void> {
  const sockets = createSocketServer();
  const macs: MacSocket[] = [];
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  server.on('upgrade', (request, stream, head) =>
    sockets.handleUpgrade(request, stream, head, (socket) => {
      socket.belongTo({ heard() {}, answered() {}, pinged() {}, ended() {} }, stream);
      macs.push(socket);
    }),
  );
  const address = server.address();
  const fleet = fork(new URL(import.meta.url), [
    String(typeof address === 'object' && address !== null ? address.port : 0),
  ]);
  while (macs.length < MACS) await setTimeout(20);

  const text = JSON.stringify({ type: 'send', message: 'x'.repeat(500) });
  const ways: Record<string, (mac: MacSocket) => void> = {
    'ws.send': (mac) => mac.send(text),
    'one piece': (mac) => mac.sendText(text),
  };
  const found = new Map(Object.keys(ways).map((name) => [name, [] as number[]]));
  for (let round = 0; round < ROUNDS; round++)
    for (const [name, write] of Object.entries(ways)) {
      const before = process.cpuUsage();
      for (let sent = 0; sent < FRAMES; sent++) {
        const mac = macs[sent % MACS];
        if (mac !== undefined) write(mac);
        if (sent % 20 === 0) await setImmediate();
      }
      await setTimeout(20);
      const { user, system } = process.cpuUsage(before);
      if (round >= ROUNDS / 4) found.get(name)?.push((user + system) / FRAMES);
    }
  for (const [name, micros] of found)
    console.log(`${name.padEnd(12)} ${spread(micros).median.toFixed(1)} µs of CPU per frame`);
  fleet.kill();
  process.exit(0);
}
