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

export function progressLine(title: string, elapsedMs: number, withinMs: number): string {
  const filled = Math.min(BAR_WIDTH, Math.floor((elapsedMs / withinMs) * BAR_WIDTH));
  const left = Math.max(0, Math.ceil((withinMs - elapsedMs) / 1000));
  return `▕${'█'.repeat(filled)}${' '.repeat(BAR_WIDTH - filled)}▏ ${title}, at most ${left} s more`;
}
