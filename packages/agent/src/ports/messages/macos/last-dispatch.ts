import { appendFileSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { uptime } from 'node:os';
import { dirname } from 'node:path';

import { contentKey } from '../content-key.ts';
import type { ExpectedMessage, OutgoingMessage } from '../messages.ts';
import { parseLines } from './osascript.ts';
import type { SendLine } from './programs/send.ts';

/** Two readings of the boot time differ slightly, because it is computed from the time of day and an uptime in whole seconds. */
const BOOT_TOLERANCE_MS = 5_000;

/**
 * - `nothing`: certainly not sent. The program ended before the dispatch or never started, or the last program sent an earlier message.
 * - `running`: not known yet.
 * - `dispatched`: Messages received the message or may have received it. Also returned if this Mac was restarted since.
 * - `unrecorded`: the message has no record. A cleanup tool can remove the record, and a later send overwrites it.
 */
export type Progress = 'nothing' | 'running' | 'dispatched' | 'unrecorded';

/**
 * The record of the last send program, in a file, because the program can outlive the agent. The file has the key of the content, the process
 * id of the program, and the lines that the program wrote.
 */
export class LastDispatch {
  readonly path: string;
  readonly #bootTime: () => number;

  /** `bootTime` returns the time at which this Mac was started. */
  constructor(path: string, bootTime = () => Date.now() - uptime() * 1_000) {
    this.path = path;
    this.#bootTime = bootTime;
  }

  /** Call before the program starts. `position` is the position of the store at this time. */
  begin(message: OutgoingMessage, position: number): void {
    mkdirSync(dirname(this.path), { recursive: true, mode: 0o700 });
    const header = { content: contentKey(message), position, bootedAt: this.#bootTime() };
    // An earlier program that is still running keeps writing to the unlinked file.
    rmSync(this.path, { force: true });
    writeFileSync(this.path, `${JSON.stringify(header)}\n`, { mode: 0o600, flush: true });
  }

  /** Call before the program gets its input. Without input, the program does nothing. */
  started(pid: number): void {
    appendFileSync(this.path, `${JSON.stringify({ pid })}\n`);
  }

  /**
   * Returns how far the send program got with this message. `since` is the position of the store before this send. File names are not
   * compared.
   */
  progressOf(message: ExpectedMessage, since: number): Progress {
    const [header, started, ...steps] = this.#read() as [
      { content?: string; position?: number; bootedAt?: number }?,
      { pid?: number }?,
      ...SendLine[],
    ];
    if (header?.content === undefined) return 'unrecorded';
    // A power cut can lose rows. It can also lose the later lines of this record, or all of it, which leaves an earlier record.
    if (header.bootedAt !== undefined && this.#wasRestartedSince(header.bootedAt)) return 'dispatched';
    if (header.position !== undefined && header.position < since) return 'nothing';
    if (header.content !== contentKey(message)) return 'unrecorded';
    if (started?.pid === undefined) return 'nothing';
    if (steps.some(({ step }) => step === 'dispatching')) return 'dispatched';
    return steps.length > 0 || !isRunning(started.pid) ? 'nothing' : 'running';
  }

  #wasRestartedSince(bootedAt: number): boolean {
    return Math.abs(this.#bootTime() - bootedAt) > BOOT_TOLERANCE_MS;
  }

  #read(): unknown[] {
    try {
      return parseLines(readFileSync(this.path, 'utf8'));
    } catch {
      return [];
    }
  }
}

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}
