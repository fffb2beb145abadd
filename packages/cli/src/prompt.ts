import { EXIT, CliError } from './cli-error.ts';
import type { Io } from './io.ts';

/** Asks on stderr, so that stdout contains only results. */
export async function ask(
  { stdin, stderr }: Pick<Io, 'stdin' | 'stderr'>,
  question: string,
): Promise<string> {
  const { createInterface } = await import('node:readline/promises');
  stderr.write(question);
  const lines = createInterface({ input: stdin });
  try {
    for await (const line of lines) return line.trim();
    return '';
  } finally {
    lines.close();
  }
}

/** Asks without showing what is typed. Reads the first line of stdin when it is not a terminal. */
export async function askHidden(io: Pick<Io, 'stdin' | 'stderr'>, question: string): Promise<string> {
  const { stdin, stderr } = io;
  if (stdin.isTTY !== true || stdin.setRawMode === undefined) return await ask(io, '');
  stderr.write(question);
  stdin.setRawMode(true);
  try {
    return await hiddenLine(stdin);
  } finally {
    stdin.setRawMode(false);
    stdin.pause();
    stderr.write('\n');
  }
}

const ENTER = new Set(['\r', '\n', '\u0004']);
const CTRL_C = '\u0003';
const BACKSPACE = new Set(['\b', '\u007f']);

async function hiddenLine(stdin: Io['stdin']): Promise<string> {
  let line = '';
  stdin.resume();
  return await new Promise((resolve, reject) => {
    const onEnd = () => done(() => resolve(line.trim()));
    const onData = (data: Buffer | string) => {
      for (const key of data.toString()) {
        if (key === CTRL_C)
          return done(() => reject(new CliError('interrupted', { exitCode: EXIT.interrupted })));
        if (ENTER.has(key)) return onEnd();
        line = BACKSPACE.has(key) ? line.slice(0, -1) : line + key;
      }
    };
    const done = (settle: () => void) => {
      stdin.off('data', onData).off('end', onEnd);
      settle();
    };
    stdin.on('data', onData).once('end', onEnd);
  });
}
