import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

import { parseReply } from './conversion.ts';
import type { ConversionReply, ConversionRequest } from './conversion.ts';
import type { Conversion } from './media-types.ts';
import { residentBytes, SAMPLE_INTERVAL_MS } from './resident-memory.ts';
import { sandboxFlags } from './sandbox.ts';

export interface ProcessLimits {
  readonly timeoutMs: number;
  /** Resident memory of the child process, its WebAssembly memory included. */
  readonly memoryBytes: number;
}

export type ProcessOutcome =
  | { kind: 'replied'; reply: ConversionReply }
  | { kind: 'killed'; cause: 'timeout' | 'memory' | 'malformed reply' }
  | { kind: 'exited'; code: number | null; signal: string | null };

interface ProcessFiles {
  readonly program: URL;
  /** Absolute paths, the only ones besides the program that the process may read and write. */
  readonly input: string;
  readonly output: string;
}

/** A sandboxed child process that converts one file at a time and is reused until something goes wrong. */
export class ConverterProcess {
  readonly #child: ChildProcess;
  readonly #exit = Promise.withResolvers<ProcessOutcome>();

  constructor({ program, input, output }: ProcessFiles) {
    this.#child = spawn(
      process.execPath,
      [...sandboxFlags(input, output), fileURLToPath(program), input, output],
      // Decoders write to the console about what they read.
      { cwd: dirname(output), env: {}, stdio: ['ignore', 'ignore', 'ignore', 'ipc'] },
    );
    this.#child.once('exit', (code, signal) => this.#exit.resolve({ kind: 'exited', code, signal }));
    this.#child.once('error', () => this.#exit.resolve({ kind: 'exited', code: null, signal: null }));
    killFirstWhenOutOfMemory(this.#child.pid);
  }

  get isRunning(): boolean {
    return this.#child.pid !== undefined && this.#child.exitCode === null && this.#child.signalCode === null;
  }

  async residentBytes(): Promise<number> {
    const { pid } = this.#child;
    return (pid === undefined ? undefined : await residentBytes(pid)) ?? 0;
  }

  /** Returns once the process has replied, or has exited. */
  async convert(conversion: Conversion, limits: ProcessLimits): Promise<ProcessOutcome> {
    const done = new AbortController();
    const outcome = await Promise.race([
      this.#exit.promise,
      this.#reply(conversion, done.signal),
      this.#overTime(limits.timeoutMs, done.signal),
      this.#overMemory(limits.memoryBytes, done.signal),
    ]);
    done.abort();
    if (outcome.kind === 'killed') await this.kill();
    return outcome;
  }

  /** Returns once the process has exited. */
  async kill(): Promise<void> {
    this.#child.kill('SIGKILL');
    await this.#exit.promise;
  }

  #reply(conversion: Conversion, signal: AbortSignal): Promise<ProcessOutcome> {
    const { promise, resolve } = Promise.withResolvers<ProcessOutcome>();
    const settle = (message: unknown) => {
      const reply = parseReply(message);
      resolve(reply ? { kind: 'replied', reply } : { kind: 'killed', cause: 'malformed reply' });
    };
    this.#child.once('message', settle);
    signal.addEventListener('abort', () => this.#child.off('message', settle));
    const request: ConversionRequest = { conversion };
    // A failure to send means that the process has exited, which `#exit` reports.
    if (this.#child.connected) this.#child.send(request, () => undefined);
    return promise;
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
