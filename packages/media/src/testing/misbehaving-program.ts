// Takes the place of the converter's program in tests. The input file says what it does.
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync, writeSync } from 'node:fs';
import { connect } from 'node:net';
import os from 'node:os';
import { Worker } from 'node:worker_threads';

import { CHILD_WRITES, frame, frameHeader, PART, REPLY } from '../conversion-frames.ts';
import { serveConversions } from '../conversion-server.ts';
import type { Convert } from '../conversion-server.ts';
import { ConversionError } from '../convert/budget.ts';

/** Returns the error code of a denied operation, `allowed` for any other. */
async function attempt(operation: () => unknown): Promise<string> {
  try {
    await operation();
    return 'allowed';
  } catch (error) {
    return error instanceof Error && 'code' in error ? String(error.code) : String(error);
  }
}

function connectTo(port: number): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const socket = connect(port, '127.0.0.1', resolve).once('error', reject);
  return promise.finally(() => socket.destroy());
}

async function probe(port: number) {
  return {
    readFile: await attempt(() => readFileSync('/etc/passwd')),
    readEnvironment: await attempt(() => readFileSync('/proc/self/environ')),
    writeFile: await attempt(() => writeFileSync('/tmp/footbridge-probe', 'x')),
    spawn: await attempt(() => execFileSync('/bin/true')),
    worker: await attempt(() => new Worker('', { eval: true })),
    connect: await attempt(() => connectTo(port)),
    database: await attempt(() => import('node:sqlite')),
    signal: await attempt(() => process.kill(process.ppid, 0)),
    debug: await attempt(() => Reflect.get(process, '_debugProcess')(process.ppid)),
    slow: await attempt(() => os.setPriority(process.ppid, 19)),
    user: process.getuid?.(),
    environment: Object.keys(process.env),
  };
}

function fillMemory(): never {
  for (const kept: Buffer[] = []; ;) kept.push(Buffer.alloc(4 * 1024 * 1024, 1));
}

function fillHeap(): never {
  for (const kept: number[][] = []; ;) kept.push(Array.from({ length: 100_000 }, (_, index) => index / 3));
}

function spin(): never {
  for (;;);
}

const write = (bytes: Uint8Array) => {
  for (let at = 0; at < bytes.byteLength;) at += writeSync(CHILD_WRITES, bytes, at);
};

/** Sends the same bytes until the service stops this process. */
function flood(bytes: Uint8Array): never {
  const all = Buffer.concat(Array(Math.ceil(65_536 / bytes.byteLength)).fill(bytes));
  for (;;) write(all);
}

const MALFORMED: Readonly<Record<string, () => unknown>> = {
  'malformed-type': () => write(frame(REPLY, { ok: true, type: 'text/x-shellscript', path: '/etc/passwd' })),
  'malformed-json': () => write(Buffer.concat([frameHeader(REPLY, 2), Buffer.from('{!')])),
  'malformed-kind': () => write(frameHeader(9, 1)),
  'malformed-length': () => write(frameHeader(REPLY, 0xffff_ffff)),
  'two-replies': () => {
    const reply = frame(REPLY, { ok: true, type: 'text/plain', note: String(process.pid) });
    write(Buffer.concat([reply, reply]));
  },
  'flood-junk': () => flood(Buffer.from('x')),
  'flood-empty': () => flood(frameHeader(PART, 0)),
  'flood-small': () => flood(Buffer.concat([frameHeader(PART, 1), Buffer.from('x')])),
  'flood-large': () => flood(Buffer.concat([frameHeader(PART, 65_536), Buffer.alloc(65_536)])),
};

const convert: Convert = async (_conversion, file, to) => {
  const [behaviour = '', argument] = file.toString().split(' ');
  MALFORMED[behaviour]?.();
  switch (behaviour) {
    case 'probe':
      throw new ConversionError(JSON.stringify(await probe(Number(argument))));
    case 'fill-memory':
      return fillMemory();
    case 'fill-heap':
      return fillHeap();
    case 'spin':
      return spin();
    case 'exit':
      return process.exit(7);
    case 'fail':
      throw new Error('damaged');
    case 'part-of-a-header':
      write(Buffer.from([PART, 0]));
      return spin();
    case 'flood-later':
      write(frame(REPLY, { ok: true, type: 'text/plain', note: String(process.pid) }));
      // The service takes the reply before more arrives.
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 200);
      return flood(Buffer.from('x'));
  }
  to.write(Buffer.from(behaviour));
  return { type: 'text/plain', note: String(process.pid) };
};

await serveConversions(convert);
