/** Where progress is shown: standard error, or a test. */
export interface ProgressStream {
  readonly isTTY?: boolean | undefined;
  write(text: string): unknown;
}

export interface ProgressState {
  readonly round: number;
  readonly rounds: number;
  /** Both ways together. */
  readonly messages: number;
  readonly allMessages: number;
  readonly faults: number;
  readonly allFaults: number;
  readonly violations: number;
}

const BAR_WIDTH = 30;
const TTY_EVERY_MS = 200;
const LINE_EVERY_MS = 10_000;
const CLEAR_LINE = '\r\u001B[K';

/** Shows progress as a bar on a terminal, and as a line every ten seconds elsewhere. */
export class Progress {
  readonly #stream: ProgressStream;
  readonly #now: () => number;
  readonly #startedAt: number;
  #shownAt = -Infinity;
  #latest: ProgressState | undefined;

  constructor(stream: ProgressStream, now: () => number = () => performance.now()) {
    this.#stream = stream;
    this.#now = now;
    this.#startedAt = now();
  }

  show(state: ProgressState): void {
    this.#latest = state;
    this.refresh();
  }

  /** Shows the time that has passed. */
  refresh(): void {
    const state = this.#latest;
    if (state === undefined) return;
    const now = this.#now();
    const isTerminal = this.#stream.isTTY === true;
    if (now - this.#shownAt < (isTerminal ? TTY_EVERY_MS : LINE_EVERY_MS)) return;
    this.#shownAt = now;
    const line = describe(state, Math.round((now - this.#startedAt) / 1000));
    this.#stream.write(isTerminal ? `${CLEAR_LINE}${barOf(state)} ${line}` : `${line}\n`);
  }

  /** Removes the bar, so that the next output starts on a line of its own. */
  end(): void {
    if (this.#stream.isTTY === true) this.#stream.write(CLEAR_LINE);
  }
}

function describe(state: ProgressState, seconds: number): string {
  const { round, rounds, messages, allMessages, faults, allFaults, violations } = state;
  return `round ${round + 1}/${rounds}, ${messages}/${allMessages} messages, ${faults}/${allFaults} faults, ${violations} violations, ${seconds} s`;
}

function barOf({ messages, allMessages }: ProgressState): string {
  const filled = Math.round((BAR_WIDTH * messages) / Math.max(1, allMessages));
  return `[${'#'.repeat(filled)}${'.'.repeat(BAR_WIDTH - filled)}]`;
}
