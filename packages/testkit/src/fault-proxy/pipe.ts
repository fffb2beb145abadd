import { once } from 'node:events';
import type { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Direction, Toxics } from './toxics.ts';

const HIGH_WATER = 256 * 1024;

/** The connection that a pipe is a direction of. */
export interface PipedConnection {
  readonly isClosed: boolean;
  /** Set when the pipe dropped data. */
  hasLostBytes: boolean;
  count(direction: Direction, bytes: number): void;
  /** Returns false if the chunk must not be forwarded. */
  trackExchange(direction: Direction, chunk: Buffer): boolean;
  /** Closes both ends after flushing pending writes. */
  end(): void;
}

/** One direction of a connection. Forwards data in order, and delays, splits or drops it as the toxics require. */
export class Pipe {
  readonly #link: PipedConnection;
  readonly #direction: Direction;
  readonly #toxics: Toxics;
  readonly #from: Socket;
  readonly #to: Socket;
  readonly #queue: { chunk: Buffer | null; at: number }[] = [];
  #queued = 0;
  #forwarded = 0;
  #pumping = false;

  constructor(link: PipedConnection, direction: Direction, toxics: Toxics, from: Socket, to: Socket) {
    this.#link = link;
    this.#direction = direction;
    this.#toxics = toxics;
    this.#from = from;
    this.#to = to;
  }

  open(): void {
    this.#from.on('data', (chunk: Buffer) => this.#enqueue(chunk));
    this.#from.on('end', () => this.#enqueue(null));
  }

  #enqueue(chunk: Buffer | null): void {
    this.#queue.push({ chunk, at: performance.now() });
    this.#queued += chunk?.length ?? 0;
    if (this.#queued > HIGH_WATER) this.#from.pause();
    if (!this.#pumping) void this.#pump();
  }

  async #pump(): Promise<void> {
    this.#pumping = true;
    for (let next = this.#queue.shift(); next && !this.#link.isClosed; next = this.#queue.shift()) {
      this.#queued -= next.chunk?.length ?? 0;
      if (this.#queued <= HIGH_WATER && this.#from.isPaused()) this.#from.resume();
      if (next.chunk) await this.#forward(next.chunk, next.at);
      else await this.#end();
    }
    this.#pumping = false;
  }

  async #forward(chunk: Buffer, at: number): Promise<void> {
    if (this.#drops()) return;
    if (!this.#link.trackExchange(this.#direction, chunk)) return;
    await this.#delay(at);
    // A toxic may have been added during the delay.
    if (this.#link.isClosed || this.#drops()) return;
    const limits = this.#toxics.affecting('limit_data', this.#link, this.#direction);
    const allowed = Math.min(Infinity, ...limits.map(({ bytes }) => bytes - this.#forwarded));
    await this.#write(allowed < chunk.length ? chunk.subarray(0, Math.max(0, allowed)) : chunk);
    if (allowed <= chunk.length) this.#link.end();
  }

  async #end(): Promise<void> {
    const slow = this.#toxics.affecting('slow_close', this.#link, this.#direction);
    for (const { ms } of slow) await sleep(ms);
    if (this.#drops() || this.#toxics.affecting('half_open', this.#link, this.#direction).length > 0) return;
    this.#to.end();
  }

  #drops(): boolean {
    const dropped = this.#toxics.affecting('timeout', this.#link, this.#direction).length > 0;
    if (dropped) this.#link.hasLostBytes = true;
    return dropped || !this.#to.writable;
  }

  async #delay(at: number): Promise<void> {
    for (const { ms, jitterMs = 0 } of this.#toxics.affecting('latency', this.#link, this.#direction)) {
      const left = at + ms + this.#toxics.random() * jitterMs - performance.now();
      if (left > 0) await sleep(left);
    }
  }

  async #write(chunk: Buffer): Promise<void> {
    for (let rest = chunk; rest.length > 0 && !this.#link.isClosed;) {
      const { size, pauseMs } = this.#throttle(rest.length);
      if (pauseMs > 0) await sleep(pauseMs);
      if (this.#link.isClosed) return;
      const piece = rest.subarray(0, size);
      rest = rest.subarray(size);
      this.#forwarded += piece.length;
      this.#link.count(this.#direction, piece.length);
      if (!this.#to.write(piece) && !this.#to.destroyed) {
        await Promise.race([once(this.#to, 'drain'), once(this.#to, 'close')]).catch(() => undefined);
      }
    }
  }

  #throttle(length: number): { size: number; pauseMs: number } {
    let size = length;
    let pauseMs = 0;
    for (const { bytes, delayMs = 0 } of this.#toxics.affecting('slicer', this.#link, this.#direction)) {
      size = Math.min(size, Math.max(1, Math.round(bytes * (0.5 + this.#toxics.random()))));
      pauseMs += delayMs;
    }
    for (const { bytesPerSec } of this.#toxics.affecting('bandwidth', this.#link, this.#direction)) {
      size = Math.min(size, Math.max(1, Math.round(bytesPerSec / 50)));
      pauseMs += (size / bytesPerSec) * 1_000;
    }
    return { size, pauseMs };
  }
}
