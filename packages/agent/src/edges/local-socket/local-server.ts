import { once } from 'node:events';
import { chmodSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import type { Socket } from 'node:net';
import { createInterface } from 'node:readline';

import type { Log } from '@footbridge/runtime/log';

import type { LocalCalls, ResponseLine } from './local-calls.ts';
import { localSocketPath } from './local-calls.ts';
import { readCall } from './read-call.ts';
import type { LocalCall } from './read-call.ts';

/**
 * Opens the socket on which other commands of the owner talk to the running agent: one JSON object per line, one call per connection.
 * The caller holds the lock of the data folder, so an existing socket file was left by a process that died.
 */
export async function openLocalSocket(
  dataDir: string,
  calls: LocalCalls,
  log: Log,
): Promise<() => Promise<void>> {
  const path = localSocketPath(dataDir);
  rmSync(path, { force: true });
  const open = new Set<Socket>();
  const server = createServer((socket) => {
    open.add(socket);
    socket.on('close', () => open.delete(socket));
    socket.on('error', () => socket.destroy());
    handle(socket, calls).catch((error: unknown) => {
      log.error({ event: 'agent.local_call_failed', err: error }, 'local call failed');
      reply(socket, { error: 'The agent failed; its log has the reason' });
    });
  });
  server.listen(path);
  await once(server, 'listening');
  chmodSync(path, 0o600);
  return async () => {
    server.close();
    for (const socket of open) socket.destroy();
    await once(server, 'close');
  };
}

async function handle(socket: Socket, calls: LocalCalls): Promise<void> {
  for await (const line of createInterface(socket)) {
    const call = readCall(line);
    if (call === undefined) return reply(socket, { error: 'The agent does not know this call' });
    return reply(socket, { result: (await perform(call, calls, socket)) ?? null });
  }
}

function perform(call: LocalCall, calls: LocalCalls, socket: Socket): unknown {
  if (call.call === 'report') return calls.report();
  if (call.call === 'requestPermission') return calls.requestPermission(call.permission);
  if (call.call === 'sendText') return calls.sendText(call.to, call.text);
  if (call.call === 'selftest')
    return calls.selftest(call.options, {
      onStep: (step) => write(socket, { step }),
      onNote: (note) => write(socket, { note }),
    });
  if (call.call === 'interruptSend') return calls.interruptSend(call.to);
  if (call.call === 'resolveInterruptedSend') return calls.resolveInterruptedSend();
  return calls.stop();
}

function write(socket: Socket, line: ResponseLine): void {
  socket.write(`${JSON.stringify(line)}\n`);
}

function reply(socket: Socket, line: ResponseLine): void {
  write(socket, line);
  socket.end();
}
