import { appendFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';

import { contentKey } from '../content-key.ts';
import type { OutgoingMessage } from '../messages.ts';
import { parseLines } from './osascript.ts';
import type { SendLine } from './programs/send.ts';

/**
 * What the last send program did, on disk: it outlives the agent, and so does the program. The file has the key of the content, the
 * process id of the program, and the lines that the program wrote.
 */
export class LastDispatch {
  readonly path: string;

  constructor(path: string) {
    this.path = path;
  }

  /** Call before the program starts. `position`: that of the store at this time. */
  begin(message: OutgoingMessage, position: number): void {
    mkdirSync(dirname(this.path), { recursive: true, mode: 0o700 });
    const header = { content: contentKey(message), position };
    writeFileSync(this.path, `${JSON.stringify(header)}\n`, { mode: 0o600 });
  }

  /** Call before the program gets its input: without it, the program does nothing. */
  started(pid: number): void {
    appendFileSync(this.path, `${JSON.stringify({ pid })}\n`);
  }

  /**
   * Returns how far the program of this message came. `nothing`: certainly no message was sent. `dispatched`: Messages got the message,
   * or may have got it. `running`: that is not decided yet. The names of files are not compared: a second download can have another
   * one. A program that started before `since`, the position of the store before this send, sent an earlier message.
   */
  progressOf(message: OutgoingMessage, since: number): 'nothing' | 'running' | 'dispatched' {
    const [header, started, ...steps] = this.#read() as [
      { content?: string; position?: number }?,
      { pid?: number }?,
      ...SendLine[],
    ];
    if (header?.content !== contentKey(message) || started?.pid === undefined) return 'nothing';
    if (header.position !== undefined && header.position < since) return 'nothing';
    if (steps.some(({ step }) => step === 'dispatching')) return 'dispatched';
    return steps.length > 0 || !isRunning(started.pid) ? 'nothing' : 'running';
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
