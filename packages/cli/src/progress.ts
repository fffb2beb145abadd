import type { OutStream } from './io.ts';

const BAR_WIDTH = 20;
const REDRAW_MS = 200;
const CLEAR_LINE = '\r\u001b[2K';

/** Shows how long `work` may still take: a bar that fills until the deadline. Prints nothing unless `stream` is a terminal. */
export async function withProgress<T>(
  stream: OutStream,
  { title, withinMs }: { readonly title: string; readonly withinMs: number },
  work: (pause: (print: () => void) => void) => Promise<T>,
): Promise<T> {
  if (stream.isTTY !== true) return await work((print) => print());
  const started = performance.now();
  const draw = () =>
    void stream.write(CLEAR_LINE + progressLine(title, performance.now() - started, withinMs));
  const timer = setInterval(draw, REDRAW_MS);
  draw();
  try {
    return await work((print) => {
      stream.write(CLEAR_LINE);
      print();
      draw();
    });
  } finally {
    clearInterval(timer);
    stream.write(CLEAR_LINE);
  }
}

/** A bar for work whose size is known. Prints nothing unless `stream` is a terminal. */
export interface ProgressBar {
  update(share: number, note: string): void;
  /** Removes the bar, so that something else can be printed. */
  clear(): void;
}

export function createProgressBar(stream: OutStream, title: string): ProgressBar {
  const isShown = stream.isTTY === true;
  let drawnAt = Number.NEGATIVE_INFINITY;
  return {
    update(share, note) {
      if (!isShown || performance.now() - drawnAt < REDRAW_MS) return;
      drawnAt = performance.now();
      stream.write(
        `${CLEAR_LINE}${bar(share)} ${String(Math.floor(share * 100)).padStart(3)} %  ${title}: ${note}`,
      );
    },
    clear() {
      if (isShown) stream.write(CLEAR_LINE);
    },
  };
}

function bar(share: number): string {
  const filled = Math.min(BAR_WIDTH, Math.floor(share * BAR_WIDTH));
  return `▕${'█'.repeat(filled)}${' '.repeat(BAR_WIDTH - filled)}▏`;
}

export function progressLine(title: string, elapsedMs: number, withinMs: number): string {
  const left = Math.max(0, Math.ceil((withinMs - elapsedMs) / 1000));
  return `${bar(elapsedMs / withinMs)} ${title}, at most ${left} s more`;
}
