import type { Command } from 'commander';

import { usageError } from '../cli-error.ts';

/** Lists `footbridge start` and `footbridge demo` in the help. They are separate programs, which the file in bin starts. */
const listed = (name: string) => (program: Command) => {
  program.command(name).action(() => {
    throw usageError(`${name} must be the first word after footbridge`);
  });
};

export const startCommand = listed('start');
export const demoCommand = listed('demo');
