import { readFileSync } from 'node:fs';

import { EXIT, CliError } from './cli-error.ts';

/** The help of `--phone`. Other users of the machine can read the arguments of a process, but not its standard input. */
export const PHONE_HELP = 'phone number with country code, or email address; - reads it from standard input';

/** Returns the number that `--phone` names. */
export function phoneOf(option: string): string {
  const phone = (option === '-' ? readFileSync(0, 'utf8') : option).trim();
  if (phone === '') throw new CliError('the phone number is empty', { exitCode: EXIT.usage });
  return phone;
}
