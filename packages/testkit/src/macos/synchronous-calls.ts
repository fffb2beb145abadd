import { randomUUID } from 'node:crypto';
import {
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  renameSync,
  rmSync,
  watch,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';

import type { Operations } from '../control.ts';

/** Calls operations of another process and blocks until the result is there: Apple events are synchronous. */
export interface SynchronousCalls {
  call(name: string, argument?: object): unknown;
}

type Response = { readonly result: unknown } | { readonly error: string };

const REQUEST = '.request';
const RESPONSE = '.response';
const POLL_MS = 2;
/** The file system may not report every change. */
const SCAN_MS = 50;

/** Calls the operations that `serveSynchronousCalls` serves in this folder. A file is what a process can wait for without a thread. */
export function openSynchronousCalls(folder: string): SynchronousCalls {
  const signal = new Int32Array(new SharedArrayBuffer(4));
  return {
    call: (name, argument = {}) => {
      const path = join(folder, randomUUID());
      writeWhole(path + REQUEST, { name, argument });
      while (!existsSync(path + RESPONSE)) Atomics.wait(signal, 0, 0, POLL_MS);
      const response = JSON.parse(readFileSync(path + RESPONSE, 'utf8')) as Response;
      rmSync(path + RESPONSE);
      if ('error' in response) throw new Error(response.error);
      return response.result;
    },
  };
}

/** Serves operations to other processes. Returns a function that ends it. */
export function serveSynchronousCalls(folder: string, operations: Operations): () => void {
  // Calls to an earlier process that was killed must not be carried out now.
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  const scan = (): void => {
    for (const file of readdirSync(folder)) {
      if (!file.endsWith(REQUEST)) continue;
      const path = join(folder, file);
      const request = JSON.parse(readFileSync(path, 'utf8')) as { name: string; argument: never };
      rmSync(path);
      void respond(operations, request.name, request.argument).then((response) =>
        writeWhole(path.slice(0, -REQUEST.length) + RESPONSE, response),
      );
    }
  };
  const watcher = watch(folder, scan);
  const timer = setInterval(scan, SCAN_MS);
  return () => {
    watcher.close();
    clearInterval(timer);
  };
}

async function respond(operations: Operations, name: string, argument: never): Promise<Response> {
  try {
    const operation = Object.hasOwn(operations, name) ? operations[name] : undefined;
    if (operation === undefined) return { error: `Unknown operation: ${name}` };
    return { result: (await operation(argument)) ?? null };
  } catch (error) {
    return { error: String(error) };
  }
}

/** Readers see either no file or all of it. */
function writeWhole(path: string, content: object): void {
  writeFileSync(`${path}.new`, JSON.stringify(content));
  renameSync(`${path}.new`, path);
}
