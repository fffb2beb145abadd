import { mark } from '@footbridge/runtime/finding';

import { unencryptedLink } from '../config/unencrypted-link.ts';

/** Prints the result of a command, as text for people or as JSON for programs. */
export interface Output {
  result(data: object, text: string): void;
  /** Prints a line about the progress before the result, for people only. */
  progress(text: string): void;
  /** Prints what to change, although the command succeeded. */
  warning(text: string): void;
  problem(text: string, code?: string): void;
}

export function createOutput(
  json: boolean,
  out: { write(text: string): unknown } = process.stdout,
  err: { write(text: string): unknown } = process.stderr,
): Output {
  return {
    result: (data, text) => out.write(`${json ? JSON.stringify(data) : text}\n`),
    progress: (text) => void (json || out.write(`${text}\n`)),
    warning: (text) =>
      err.write(`${json ? JSON.stringify({ warning: text }) : `${mark('warn', process.stderr)} ${text}`}\n`),
    problem: (text, code) =>
      err.write(
        `${json ? JSON.stringify({ error: text, ...(code === undefined ? {} : { code }) }) : text}\n`,
      ),
  };
}

export function warnIfUnencrypted(url: string | undefined, output: Pick<Output, 'warning'>): void {
  const fault = url === undefined ? undefined : unencryptedLink(url);
  if (fault !== undefined) output.warning(`${fault.detail}. ${fault.next}.`);
}
