import { createRequire } from 'node:module';

import { Command, CommanderError } from 'commander';

import { auditCommand } from './commands/audit.ts';
import { captureCommand } from './commands/capture.ts';
import { consoleCommand } from './commands/console.ts';
import { deviceCommand } from './commands/device.ts';
import { explainCommand } from './commands/explain.ts';
import { issuesCommand } from './commands/issues.ts';
import { keysCommand } from './commands/keys.ts';
import { licenseCommand } from './commands/license.ts';
import { locationCommand } from './commands/location.ts';
import { optOutCommand } from './commands/opt-out.ts';
import { redeliverCommand } from './commands/redeliver.ts';
import { showCommand } from './commands/show.ts';
import { tailCommand } from './commands/tail.ts';
import { tokenCommand } from './commands/token.ts';
import { EXIT, CliError } from './cli-error.ts';
import { createOutput } from './output.ts';
import { addSharedOptions } from './command-context.ts';
import { describeTarget, loadEnvFile, serviceTarget } from './service-target.ts';

/** Each function adds a command and its subcommands to the program. */
const COMMANDS = [
  keysCommand,
  licenseCommand,
  deviceCommand,
  locationCommand,
  consoleCommand,
  tokenCommand,
  optOutCommand,
  issuesCommand,
  auditCommand,
  tailCommand,
  showCommand,
  captureCommand,
  redeliverCommand,
  explainCommand,
];

const { version } = createRequire(import.meta.url)('../package.json') as { version: string };

export function createProgram(): Command {
  const program = addSharedOptions(new Command('footbridge'))
    .description('Manage and inspect a Footbridge service.')
    .version(version)
    .showSuggestionAfterError()
    .showHelpAfterError('Try --help.')
    .addHelpText('after', whichService)
    .exitOverride();
  for (const add of COMMANDS) add(program);
  return program.action(() => program.outputHelp());
}

function whichService(): string {
  const rules = `
The service: --url, FOOTBRIDGE_OPERATOR_URL, or http://ADMIN_HOST:ADMIN_PORT.
Its token: --token-file, OPERATOR_TOKEN, OPERATOR_TOKEN_FILE, or DATA_DIR/operator-token.
Both come from the environment or from .env in the current folder, as for the service itself.`;
  try {
    return `${rules}\nHere: ${describeTarget(serviceTarget({}, process.env))}`;
  } catch (error) {
    return `${rules}\nHere: ${error instanceof Error ? error.message : String(error)}`;
  }
}

async function run(args: readonly string[]): Promise<number> {
  loadEnvFile();
  try {
    await createProgram().parseAsync(args, { from: 'user' });
    return Number(process.exitCode ?? EXIT.done);
  } catch (error) {
    // Commander has already printed its message. It also throws for --help and --version, with exit code 0.
    if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.done : EXIT.usage;
    const cliError =
      error instanceof CliError
        ? error
        : new CliError(`internal error: ${String(error)}`, {
            exitCode: EXIT.bug,
            next: 'this is a bug in footbridge, please report it',
            cause: error,
          });
    createOutput({ json: args.includes('--json'), quiet: false }).error(cliError);
    return cliError.exitCode;
  }
}

/** Ends quietly when the reader of a pipe, such as `head`, has read enough. */
function endWithReader(): void {
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error;
    process.exit(EXIT.done);
  });
}

if (import.meta.main) {
  endWithReader();
  process.exitCode = await run(process.argv.slice(2));
}
