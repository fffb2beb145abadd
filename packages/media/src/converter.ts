import { randomUUID } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';

import { systemClock } from '@footbridge/runtime/clock';
import { FairSlots } from '@footbridge/runtime/fair-slots';

import type { ConversionReply } from './conversion.ts';
import { ConversionSlot } from './conversion-slot.ts';
import { ConversionError, MAX_INPUT_BYTES } from './convert/budget.ts';
import type { ProcessOutcome } from './converter-process.ts';
import type { Conversion } from './media-types.ts';
import { canRunAsOther, userOf } from './sandbox.ts';

export type ConversionResult =
  | (Extract<ConversionReply, { ok: true }> & {
      /** The converted file; the caller removes it. */ path: string;
    })
  | { ok: false; /** For the recipient. */ reason: string };

/** Opens the file to convert. */
export type ConversionSource = () => Promise<AsyncIterable<Uint8Array>>;

export interface ConverterLog {
  warn(fields: object, message: string): void;
}

export interface ConverterOptions {
  /** Conversions at a time, each in a process that takes up to a core and `memoryBytes`. With two, one tenant takes one. */
  readonly slots?: number;
  /** Files of one tenant that wait for a slot. */
  readonly maxWaitingPerTenant?: number;
  /** Limit of one conversion. The largest photo takes about five seconds on an idle core. */
  readonly timeoutMs?: number;
  /** Limit of the wait for a slot: a message waits for the file. */
  readonly queueTimeoutMs?: number;
  /** Limit of the resident memory of one process. */
  readonly memoryBytes?: number;
  /** An unused process is stopped after this time: a service without attachments does not pay for it. */
  readonly idleMs?: number;
  /** The program of the child process. */
  readonly program: URL;
}

const MIB = 1024 * 1024;

/** What conversions may occupy. docs/security.md shows it. */
export const CONVERSIONS = {
  slots: 2,
  maxWaitingPerTenant: 16,
  timeoutMs: 30_000,
  queueTimeoutMs: 60_000,
  memoryBytes: 384 * MIB,
} as const;

const STOPPED: ConversionResult = { ok: false, reason: 'the service is stopping' };

/**
 * Converts files that browsers do not show. Decoders run in sandboxed child processes: a file that crashes, hangs or
 * inflates one ends that process and nothing else (T51).
 *
 * `convert` never throws. Unless it returns `ok`, there is no result and the original is delivered unconverted.
 */
export class Converter {
  readonly #folder: string;
  readonly #log: ConverterLog;
  readonly #queueTimeoutMs: number;
  readonly #slots: readonly ConversionSlot[];
  readonly #free: ConversionSlot[];
  readonly #queue: FairSlots;
  readonly #maxWaitingPerTenant: number;
  /** Wakes the conversions that wait for a slot, by tenant. */
  readonly #waiting = new Map<string, Set<() => void>>();
  #isClosed = false;
  #asOther: Promise<boolean> | undefined;

  /** `folder` is emptied: it belongs to one converter. */
  static async open(folder: string, log: ConverterLog, options: ConverterOptions): Promise<Converter> {
    await rm(folder, { recursive: true, force: true });
    await mkdir(folder, { recursive: true, mode: 0o700 });
    return new Converter(folder, log, options);
  }

  private constructor(
    folder: string,
    log: ConverterLog,
    {
      slots = CONVERSIONS.slots,
      timeoutMs = CONVERSIONS.timeoutMs,
      queueTimeoutMs = CONVERSIONS.queueTimeoutMs,
      maxWaitingPerTenant = CONVERSIONS.maxWaitingPerTenant,
      memoryBytes = CONVERSIONS.memoryBytes,
      idleMs = 5 * 60_000,
      program,
    }: ConverterOptions,
  ) {
    this.#folder = folder;
    this.#log = log;
    this.#queueTimeoutMs = queueTimeoutMs;
    this.#maxWaitingPerTenant = maxWaitingPerTenant;
    this.#queue = new FairSlots(slots, systemClock);
    this.#slots = Array.from(
      { length: slots },
      (_, index) =>
        new ConversionSlot({
          program,
          user: async () => ((await this.#runsAsOther()) ? userOf(index) : undefined),
          limits: { timeoutMs, memoryBytes },
          idleMs,
        }),
    );
    this.#free = this.#slots.toReversed();
  }

  /** `tenant` is whose turn in the queue it uses. */
  async convert(conversion: Conversion, source: ConversionSource, tenant: string): Promise<ConversionResult> {
    // Each waiting file is copied to disk.
    if ((this.#waiting.get(tenant)?.size ?? 0) >= this.#maxWaitingPerTenant) return this.#notConverted();
    const job = join(this.#folder, randomUUID());
    const [input, output] = [`${job}.input`, `${job}.output`];
    try {
      // Before the queue: a slow source must not hold a slot.
      await pipeline(bounded(await source()), createWriteStream(input, { mode: 0o600 }));
      return await this.#inSlot(conversion, input, output, tenant);
    } catch (error) {
      return { ok: false, reason: reasonOf(error) };
    } finally {
      await rm(input, { force: true });
    }
  }

  get load(): { running: number; waiting: number } {
    return { running: this.#queue.inUse, waiting: this.#queue.waiting };
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    for (const waiting of this.#waiting.values()) for (const stop of waiting) stop();
    await Promise.all(this.#slots.map((slot) => slot.close()));
  }

  async #inSlot(
    conversion: Conversion,
    input: string,
    output: string,
    tenant: string,
  ): Promise<ConversionResult> {
    const release = await this.#acquire(tenant);
    const slot = release === undefined ? undefined : this.#free.pop();
    try {
      if (this.#isClosed) return STOPPED;
      if (slot === undefined) return this.#notConverted();
      const outcome = await slot.convert({ conversion, input, output });
      if (this.#isClosed && outcome.kind !== 'replied') return STOPPED;
      return this.#resultOf(outcome, conversion, output);
    } finally {
      if (slot !== undefined) this.#free.push(slot);
      release?.();
    }
  }

  /** Resolves with whether the processes run as other users than this one. Tried once, when the first process starts. */
  #runsAsOther(): Promise<boolean> {
    this.#asOther ??= canRunAsOther().then((canRun) => {
      if (!canRun && process.getuid?.() === 0)
        this.#log.warn(
          { event: 'media.converter_is_root' },
          'the converter runs as root, because it cannot start as another user; start the service as a user of its own, from a folder that others can read',
        );
      return canRun;
    });
    return this.#asOther;
  }

  #notConverted(): ConversionResult {
    this.#log.warn(
      { event: 'media.queue_timeout', ...this.load },
      'no conversion slot became free, the file is not converted',
    );
    return { ok: false, reason: 'too many files are waiting to be converted' };
  }

  /** Resolves with undefined when the converter was closed or no slot became free in time. */
  #acquire(tenant: string): Promise<(() => void) | undefined> {
    if (this.#isClosed) return Promise.resolve(undefined);
    const waiting = this.#waiting.get(tenant) ?? new Set();
    return new Promise((resolve) => {
      const settle = (release: (() => void) | undefined) => {
        clearTimeout(timeout);
        waiting.delete(stop);
        if (waiting.size === 0) this.#waiting.delete(tenant);
        resolve(release);
      };
      const stop = () => {
        withdraw();
        settle(undefined);
      };
      const timeout = setTimeout(stop, this.#queueTimeoutMs);
      waiting.add(stop);
      this.#waiting.set(tenant, waiting);
      const withdraw = this.#queue.enter(tenant, settle);
    });
  }

  #resultOf(outcome: ProcessOutcome, conversion: Conversion, path: string): ConversionResult {
    switch (outcome.kind) {
      case 'replied':
        return outcome.reply.ok ? { ...outcome.reply, path } : outcome.reply;
      case 'killed':
        this.#log.warn(
          { event: 'media.converter_killed', conversion, cause: outcome.cause },
          'converter process killed, the file is not converted',
        );
        return { ok: false, reason: KILL_REASONS[outcome.cause] };
      case 'exited':
        this.#log.warn(
          { event: 'media.converter_crashed', conversion, code: outcome.code, signal: outcome.signal },
          'converter process crashed, the file is not converted',
        );
        return { ok: false, reason: 'the file could not be converted' };
      default:
        return outcome satisfies never;
    }
  }
}

const KILL_REASONS = {
  timeout: 'converting the file takes too long',
  memory: 'converting the file takes too much memory',
  'malformed reply': 'the file could not be converted',
} as const;

/** The limit of the decoders, applied before the bytes reach the disk a second time. */
async function* bounded(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let size = 0;
  for await (const chunk of bytes) {
    size += chunk.byteLength;
    if (size > MAX_INPUT_BYTES) throw new ConversionError('the file is too large to convert');
    yield chunk;
  }
}

function reasonOf(error: unknown): string {
  if (error instanceof ConversionError) return error.message;
  const isFull = error instanceof Error && 'code' in error && error.code === 'ENOSPC';
  return isFull ? 'there is no room to convert it' : 'it could not be read';
}
