import type { Command } from 'commander';

import { usageError } from '../cli-error.ts';

/** `footbridge start` and `footbridge demo` are programs of their own, which the file in bin starts. Here they are listed. */
const listed = (name: string) => (program: Command) => {
  program.command(name).action(() => {
    throw usageError(`${name} is a program of its own; it must be the first word after footbridge`);
  });
};

export const startCommand = listed('start');
export const demoCommand = listed('demo');
