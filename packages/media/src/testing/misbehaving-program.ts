// Takes the place of the converter's program in tests. The input file says what it does.
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { Worker } from 'node:worker_threads';

const [, , input = '', output = ''] = process.argv;

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
    writeFile: await attempt(() => writeFileSync(`${output}.other`, 'x')),
    spawn: await attempt(() => execFileSync('/bin/true')),
    worker: await attempt(() => new Worker('', { eval: true })),
    connect: await attempt(() => connectTo(port)),
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

async function reply(): Promise<unknown> {
  const [behaviour = '', argument] = readFileSync(input, 'utf8').split(' ');
  switch (behaviour) {
    case 'probe':
      return { ok: false, reason: JSON.stringify(await probe(Number(argument))) };
    case 'fill-memory':
      return fillMemory();
    case 'fill-heap':
      return fillHeap();
    case 'spin':
      return spin();
    case 'exit':
      return process.exit(7);
    case 'malformed':
      return { ok: true, type: 'text/x-shellscript', path: '/etc/passwd' };
    case 'fail':
      return { ok: false, reason: 'the file is damaged' };
    default:
      writeFileSync(output, behaviour);
      return { ok: true, type: 'text/plain', note: String(process.pid) };
  }
}

process.on('disconnect', () => process.exit());
process.on('message', () => void reply().then((message) => process.send?.(message)));
