import type { Command } from 'commander';

import { EXIT, CliError } from './cli-error.ts';
import { createOperatorClient } from './operator-client.ts';
import type { OperatorClient } from './operator-client.ts';
import { createOutput } from './output.ts';
import type { Output } from './output.ts';
import { describeTarget, serviceTarget } from './service-target.ts';

/** The objects that a command's action uses, created from the options that all commands share. */
export interface CommandContext {
  readonly output: Output;
  readonly operator: () => OperatorClient;
  /** Asks for confirmation of a destructive action. Throws if the user declines, or without a terminal unless `--yes` is given. */
  readonly confirm: (question: string) => Promise<void>;
}

export function addSharedOptions(program: Command): Command {
  return program
    .option('--json', 'print JSON, one object per line (the default when the output is piped)')
    .option('-q, --quiet', 'do not print hints')
    .option('-y, --yes', 'do not ask for confirmation')
    .option('-v, --verbose', 'print which service the command talks to')
    .option('--url <url>', 'operator API of the service (default: see below)')
    .option('--token-file <file>', 'file with the operator token (default: see below)')
    .option('--timeout <seconds>', 'how long to wait for a response', '10');
}

interface SharedOptions {
  json?: boolean;
  quiet?: boolean;
  yes?: boolean;
  verbose?: boolean;
  url?: string;
  tokenFile?: string;
  timeout?: string;
}

export function contextOf(command: Command): CommandContext {
  const {
    json = false,
    quiet = false,
    yes = false,
    verbose = false,
    url,
    tokenFile,
    timeout,
  } = command.optsWithGlobals<SharedOptions>();
  const output = createOutput({ json, quiet });
  return {
    output,
    operator() {
      const target = serviceTarget({ url, tokenFile }, process.env);
      if (verbose) process.stderr.write(`${describeTarget(target)}\n`);
      return createOperatorClient(target, seconds(timeout ?? '10') * 1000);
    },
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
