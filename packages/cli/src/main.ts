import { createRequire } from 'node:module';

import { Command, CommanderError } from 'commander';

import { deviceCommand } from './commands/device.ts';
import { explainCommand } from './commands/explain.ts';
import { keysCommand } from './commands/keys.ts';
import { licenseCommand } from './commands/license.ts';
import { locationCommand } from './commands/location.ts';
import { redeliverCommand } from './commands/redeliver.ts';
import { showCommand } from './commands/show.ts';
import { tailCommand } from './commands/tail.ts';
import { EXIT, Failure } from './failure.ts';
import { createOutput } from './output.ts';
import { addSharedOptions } from './tools.ts';

/** One line per command; each adds itself and its subcommands to the program. */
const COMMANDS = [
  keysCommand,
  licenseCommand,
  deviceCommand,
  locationCommand,
  tailCommand,
  showCommand,
  redeliverCommand,
  explainCommand,
];

const { version } = createRequire(import.meta.url)('../package.json') as { version: string };

export function createProgram(): Command {
  const program = addSharedOptions(new Command('footbridge'))
    .description('Runs and inspects a Footbridge service.')
    .version(version)
    .showSuggestionAfterError()
    .showHelpAfterError('Try --help.')
    .exitOverride();
  for (const add of COMMANDS) add(program);
  return program.action(() => program.outputHelp());
}

async function run(args: readonly string[]): Promise<number> {
  try {
    await createProgram().parseAsync(args, { from: 'user' });
    return Number(process.exitCode ?? EXIT.done);
  } catch (error) {
    // Commander has printed its own message; help and version come this way too, with exit code 0.
    if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.done : EXIT.usage;
    const failure =
      error instanceof Failure
        ? error
        : new Failure(`this should not have happened: ${String(error)}`, {
            exitCode: EXIT.bug,
            cause: error,
          });
    createOutput({ json: args.includes('--json'), quiet: false }).failure(failure);
    return failure.exitCode;
  }
}

if (import.meta.main) process.exitCode = await run(process.argv.slice(2));
