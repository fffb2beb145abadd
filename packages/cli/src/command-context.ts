import type { Command } from 'commander';

import { EXIT, CliError } from './cli-error.ts';
import { createOperatorClient } from './operator-client.ts';
import type { OperatorClient } from './operator-client.ts';
import { createOutput } from './output.ts';
import type { Output } from './output.ts';

/** The objects that a command's action uses, created from the options that all commands share. */
export interface CommandContext {
  readonly output: Output;
  readonly operator: () => OperatorClient;
  /** Asks for confirmation of a destructive action. Throws if the user declines, or without a terminal unless `--yes` is given. */
  readonly confirm: (question: string) => Promise<void>;
}

const DEFAULT_URL = 'http://127.0.0.1:4610';

export function addSharedOptions(program: Command): Command {
  return program
    .option('--json', 'print JSON, one object per line (the default when the output is piped)')
    .option('-q, --quiet', 'do not print hints')
    .option('-y, --yes', 'do not ask for confirmation')
    .option('--url <url>', `URL of the operator API (default: FOOTBRIDGE_OPERATOR_URL, or ${DEFAULT_URL})`)
    .option(
      '--token-file <file>',
      'file with the operator token (default: OPERATOR_TOKEN, or DATA_DIR/operator-token)',
    )
    .option('--timeout <seconds>', 'how long to wait for a response', '10');
}

interface SharedOptions {
  json?: boolean;
  quiet?: boolean;
  yes?: boolean;
  url?: string;
  tokenFile?: string;
  timeout?: string;
}

export function contextOf(command: Command): CommandContext {
  const {
    json = false,
    quiet = false,
    yes = false,
    url,
    tokenFile,
    timeout,
  } = command.optsWithGlobals<SharedOptions>();
  const output = createOutput({ json, quiet });
  return {
    output,
    operator: () =>
      createOperatorClient({
        url: url ?? (process.env['FOOTBRIDGE_OPERATOR_URL'] || DEFAULT_URL),
        tokenFile,
        timeoutMs: seconds(timeout ?? '10') * 1000,
      }),
    async confirm(question) {
      if (yes) return;
      if (!process.stdin.isTTY || !process.stderr.isTTY)
        throw new CliError(`${question} Cannot ask for confirmation: stdin or stderr is not a terminal.`, {
          exitCode: EXIT.usage,
          next: 'pass --yes to confirm',
        });
      if (!(await ask(question))) throw new CliError('cancelled, nothing was changed');
    },
  };
}

function seconds(text: string): number {
  const value = Number(text);
  if (value > 0 && value <= 3600) return value;
  throw new CliError(`--timeout must be a number of seconds from 1 to 3600, not ${text}`, {
    exitCode: EXIT.usage,
  });
}

async function ask(question: string): Promise<boolean> {
  const { createInterface } = await import('node:readline/promises');
  const prompt = createInterface({ input: process.stdin, output: process.stderr });
  try {
    return /^y(es)?$/i.test((await prompt.question(`${question} [y/N] `)).trim());
  } finally {
    prompt.close();
  }
}
