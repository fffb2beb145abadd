import { createRequire } from 'node:module';

import type { Command } from 'commander';

import { COMMANDS } from './command-table.ts';
import { addSharedOptions, RootCommand } from './command-context.ts';
import type { Io } from './io.ts';
import { describeTarget, serviceTarget } from './service-target.ts';

const { version } = createRequire(import.meta.url)('../package.json') as { version: string };

/** Creates the program. Commands that `words` does not name have only a name and a description, for the help and for suggestions. */
export async function createProgram(io: Io, words?: readonly string[]): Promise<Command> {
  const program = new RootCommand(io);
  addSharedOptions(program);
  program
    .description('Manage and inspect a Footbridge service. Without a command: what to do next.')
    .usage('[command] [options]')
    .version(version, '-V, --version', 'print the version')
    .helpOption('-h, --help', 'print the help of a command')
    .helpCommand(false)
    .addHelpText('after', () => whichService(io))
    .configureOutput({
      writeOut: (text) => void io.stdout.write(text),
      // Usage errors are printed by `run`, in one line.
      writeErr: () => {},
    })
    .exitOverride();
  for (const [group, entries] of Object.entries(COMMANDS))
    for (const { name, aliases = [], about, load } of entries) {
      if (words === undefined || [name, ...aliases].some((one) => words.includes(one)))
        (await load())(program);
      else program.command(name);
      program.commands
        .find((command) => command.name() === name)
        ?.description(about)
        .aliases(aliases)
        .helpGroup(group);
    }
  return program;
}

function whichService({ env }: Io): string {
  const rules = `
The service: --url, --profile or FOOTBRIDGE_PROFILE, FOOTBRIDGE_OPERATOR_URL, or http://ADMIN_HOST:ADMIN_PORT.
Its token: --token-file, the profile, OPERATOR_TOKEN, OPERATOR_TOKEN_FILE, or DATA_DIR/operator-token.
Both come from the environment or from .env in the current folder, as for the service itself. If none of them
is set, the profile "default" is used.`;
  try {
    return `${rules}\nHere: ${describeTarget(serviceTarget({}, env))}`;
  } catch (error) {
    return `${rules}\nHere: ${error instanceof Error ? error.message : String(error)}`;
  }
}
