import type { Command } from 'commander';

import { EXIT, Failure } from './failure.ts';
import { createOperatorClient } from './operator-client.ts';
import type { OperatorClient } from './operator-client.ts';
import { createOutput } from './output.ts';
import type { Output } from './output.ts';

/** What a command's action works with, made from the flags that all commands share. */
export interface Tools {
  readonly output: Output;
  readonly operator: () => OperatorClient;
  /** Asks before something is destroyed; without a terminal only `--yes` will do. */
  readonly confirm: (question: string) => Promise<void>;
}

const DEFAULT_URL = 'http://127.0.0.1:4610';

export function addSharedOptions(program: Command): Command {
  return program
    .option('--json', 'print JSON, one object per line (the default when the output is piped)')
    .option('-q, --quiet', 'print no advice')
    .option('-y, --yes', 'do not ask before something is destroyed')
    .option(
      '--url <url>',
      `operator address of the service (default: FOOTBRIDGE_OPERATOR_URL, or ${DEFAULT_URL})`,
    )
    .option(
      '--token-file <file>',
      'file with the operator token (default: OPERATOR_TOKEN, or DATA_DIR/operator-token)',
    )
    .option('--timeout <seconds>', 'how long to wait for an answer', '10');
}

interface Shared {
  json?: boolean;
  quiet?: boolean;
  yes?: boolean;
  url?: string;
  tokenFile?: string;
  timeout?: string;
}

export function toolsOf(command: Command): Tools {
  const {
    json = false,
    quiet = false,
    yes = false,
    url,
    tokenFile,
    timeout,
  } = command.optsWithGlobals<Shared>();
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
        throw new Failure(`${question} Nobody is here to ask.`, {
          exitCode: EXIT.usage,
          next: 'say it with --yes',
        });
      if (!(await answersYes(question))) throw new Failure('nothing was changed');
    },
  };
}

function seconds(text: string): number {
  const value = Number(text);
  if (value > 0 && value <= 3600) return value;
  throw new Failure(`--timeout must be a number of seconds from 1 to 3600, not ${text}`, {
    exitCode: EXIT.usage,
  });
}

async function answersYes(question: string): Promise<boolean> {
  const { createInterface } = await import('node:readline/promises');
  const asking = createInterface({ input: process.stdin, output: process.stderr });
  try {
    return /^y(es)?$/i.test((await asking.question(`${question} [y/N] `)).trim());
  } finally {
    asking.close();
  }
}
