import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { createReadStream, writeFileSync } from 'node:fs';
import { stat } from 'node:fs/promises';
import { Readable, Writable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

import type { ConversionReply, ConversionRequest } from './conversion.ts';
import { CHILD_READS, CHILD_WRITES, FILE, frame, frameHeader, REQUEST } from './conversion-frames.ts';
import type { Conversion } from './media-types.ts';
import { receiveReply } from './receive-reply.ts';
import { residentBytes, SAMPLE_INTERVAL_MS } from './resident-memory.ts';
import { sandboxFlags } from './sandbox.ts';
import type { ProcessUser } from './sandbox.ts';

export interface ProcessLimits {
  readonly timeoutMs: number;
  /** Resident memory of the child process, its WebAssembly memory included. */
  readonly memoryBytes: number;
}

export type ProcessOutcome =
  | { kind: 'replied'; reply: ConversionReply }
  | { kind: 'killed'; cause: 'timeout' | 'memory' | 'malformed reply' }
  | { kind: 'exited'; code: number | null; signal: string | null };

/** What to convert: the paths of the file and of the result. The process gets bytes, not paths. */
export interface ConversionFiles {
  readonly conversion: Conversion;
  readonly input: string;
  readonly output: string;
}

/** A sandboxed child process that converts one file at a time and is reused until something goes wrong. */
export class ConverterProcess {
  readonly #child: ChildProcess;
  readonly #exit = Promise.withResolvers<ProcessOutcome>();
  readonly #requests: Writable;
  readonly #replies: Readable;

  /** `user` is undefined for the user of this process. */
  constructor(program: URL, user: ProcessUser | undefined) {
    this.#child = spawn(process.execPath, [...sandboxFlags(), fileURLToPath(program)], {
      ...user,
      cwd: '/',
      env: {},
      stdio: ['pipe', 'ignore', 'ignore', 'pipe'],
    });
    this.#child.once('exit', (code, signal) => this.#exit.resolve({ kind: 'exited', code, signal }));
    this.#child.on('error', () => this.#exit.resolve({ kind: 'exited', code: null, signal: null }));
    const { [CHILD_READS]: requests, [CHILD_WRITES]: replies } = this.#child.stdio;
    this.#requests = requests instanceof Writable ? requests : new Writable();
    this.#replies = replies instanceof Readable ? replies : Readable.from([]);
    // A broken pipe means that the process has exited, which `#exit` reports.
    for (const pipe of [this.#requests, this.#replies]) pipe.on('error', () => undefined);
    killFirstWhenOutOfMemory(this.#child.pid);
  }

  /** Returns whether it can take a request. One that has written without a request is not used again (T59). */
  get isIdle(): boolean {
    const { pid, exitCode, signalCode } = this.#child;
    return (
      pid !== undefined && exitCode === null && signalCode === null && this.#replies.readableLength === 0
    );
  }

  async residentBytes(): Promise<number> {
    const { pid } = this.#child;
    return (pid === undefined ? undefined : await residentBytes(pid)) ?? 0;
  }

  /** Returns once the process has replied, or has exited. */
  async convert(files: ConversionFiles, limits: ProcessLimits): Promise<ProcessOutcome> {
    const done = new AbortController();
    const reply = this.#reply(files);
    try {
      const outcome = await Promise.race([
        this.#exit.promise,
        reply,
        this.#overTime(limits.timeoutMs, done.signal),
        this.#overMemory(limits.memoryBytes, done.signal),
      ]);
      if (outcome.kind === 'killed') await this.kill();
      return outcome;
    } catch (error) {
      await this.kill();
      throw error;
    } finally {
      done.abort();
      // It ends with the pipe at the latest, and writes to the output until then.
      await reply.catch(() => undefined);
    }
  }

  /** Returns once the process has exited. */
  async kill(): Promise<void> {
    this.#child.kill('SIGKILL');
    await this.#exit.promise;
  }

  async #reply({ conversion, input, output }: ConversionFiles): Promise<ProcessOutcome> {
    const sent = this.#send({ conversion }, input);
    const reply = await receiveReply(this.#replies, output);
    if (reply !== undefined) {
      await sent;
      if (this.#replies.readableLength === 0) return { kind: 'replied', reply };
    }
    // At the end of the pipe the process has exited, or is about to.
    if (this.#replies.readableEnded || this.#replies.destroyed) return await this.#exit.promise;
    return { kind: 'killed', cause: 'malformed reply' };
  }

  /** A failure means that the process has exited, or that it exits because its input ends. */
  async #send(request: ConversionRequest, input: string): Promise<void> {
    try {
      const { size } = await stat(input);
      await this.#write(Buffer.concat([frame(REQUEST, request), frameHeader(FILE, size)]));
      for await (const part of createReadStream(input)) await this.#write(part);
    } catch {
      this.#requests.destroy();
    }
  }

  #write(bytes: Buffer): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#requests.write(bytes, (error) => (error ? reject(error) : resolve()));
    });
  }

  async #overTime(timeoutMs: number, signal: AbortSignal): Promise<ProcessOutcome> {
    await sleep(timeoutMs, undefined, { signal }).catch(() => undefined);
    return { kind: 'killed', cause: 'timeout' };
  }

  async #overMemory(memoryBytes: number, signal: AbortSignal): Promise<ProcessOutcome> {
    while (!signal.aborted && (await this.residentBytes()) <= memoryBytes)
      await sleep(SAMPLE_INTERVAL_MS, undefined, { signal }).catch(() => undefined);
    return { kind: 'killed', cause: 'memory' };
  }
}

/** When the machine runs out of memory, Linux kills this process instead of the service. */
function killFirstWhenOutOfMemory(pid: number | undefined): void {
  if (process.platform !== 'linux' || pid === undefined) return;
  try {
    writeFileSync(`/proc/${pid}/oom_score_adj`, '1000');
  } catch {
    // The process has exited already, or the container does not allow it: the memory limit remains.
  }
}
