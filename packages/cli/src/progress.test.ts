import { expect, it } from 'vitest';

import { createProgressBar, progressLine, withProgress } from './progress.ts';

it('the bar fills until the deadline', () => {
  expect(progressLine('waiting', 0, 60_000)).toBe(`▕${' '.repeat(20)}▏ waiting, at most 60 s more`);
  expect(progressLine('waiting', 30_000, 60_000)).toBe(
    `▕${'█'.repeat(10)}${' '.repeat(10)}▏ waiting, at most 30 s more`,
  );
  expect(progressLine('waiting', 90_000, 60_000)).toBe(`▕${'█'.repeat(20)}▏ waiting, at most 0 s more`);
});

it('the bar is drawn on a terminal only, and cleared at the end', async () => {
  const written: string[] = [];
  const stream = (isTTY: boolean) => ({ isTTY, write: (text: string) => written.push(text) });
  const work = async (pause: (print: () => void) => void) => pause(() => written.push('a step\n'));
  await withProgress(stream(false), { title: 'waiting', withinMs: 1000 }, work);
  expect(written.splice(0)).toEqual(['a step\n']);
  await withProgress(stream(true), { title: 'waiting', withinMs: 1000 }, work);
  expect(written.at(-1)).toBe('\r\u001b[2K');
  expect(written.join('')).toContain('\r\u001b[2Ka step\n\r\u001b[2K▕');
});

it('a progress bar shows the completed share, on a terminal only', () => {
  const written: string[] = [];
  const stream = (isTTY: boolean) => ({ isTTY, write: (text: string) => written.push(text) });
  createProgressBar(stream(false), 'importing').update(0.5, '12 opt-outs');
  expect(written).toEqual([]);
  const bar = createProgressBar(stream(true), 'importing');
  bar.update(0.5, '12 opt-outs');
  bar.clear();
  expect(written).toEqual([
    `\r\u001b[2K▕${'█'.repeat(10)}${' '.repeat(10)}▏  50 %  importing: 12 opt-outs`,
    '\r\u001b[2K',
  ]);
});
