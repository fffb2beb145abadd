import { closestName } from '@footbridge/runtime/closest-name';
import { CommanderError } from 'commander';
import type { Command } from 'commander';

import { EXIT, CliError, ExitError, usageError } from './cli-error.ts';
import type { Io } from './io.ts';
import { createOutput } from './output.ts';
import { createProgram } from './program.ts';

/** Runs `footbridge` with these arguments and returns its exit code. Never throws. */
export async function run(args: readonly string[], io: Io): Promise<number> {
  try {
    await dispatch(args, io);
    return EXIT.done;
  } catch (error) {
    if (error instanceof ExitError) return error.exitCode;
    // Commander throws for --help and --version too, with exit code 0.
    if (error instanceof CommanderError && error.exitCode === 0) return EXIT.done;
    const cliError = error instanceof CliError ? error : bug(error);
    createOutput({ json: args.includes('--json'), quiet: false }, io.stdout, io.stderr).error(cliError);
    return cliError.exitCode;
  }
}

async function dispatch(args: readonly string[], io: Io): Promise<void> {
  if (args.includes(''))
    throw usageError('an argument is empty; check the quotes and variables on the command line');
  const program = await createProgram(io, args.includes('completion') ? undefined : args);
  const words = operandsOf(program, args);
  const [first] = words;
  if (first === undefined && !args.some((arg) => /^(-h|--help|-V|--version)$/.test(arg))) {
    const { nextStep } = await import('./commands/next-step.ts');
    program.action(async () => await nextStep(program));
  } else if (first === 'help') {
    return await dispatch([...args.toSpliced(args.indexOf('help'), 1), '--help'], io);
  } else if (first !== undefined && commandNamed(program, first) === undefined)
    throw unknownCommand(program, first);
  try {
    await program.parseAsync(args, { from: 'user' });
  } catch (error) {
    throw error instanceof CommanderError && error.exitCode !== 0 ? inOneLine(error, program, words) : error;
  }
}

/** Returns the arguments that are neither options of the program nor their values. */
function operandsOf({ options }: Command, args: readonly string[]): string[] {
  const withValue = new Set(
    options.filter(({ required }) => required).flatMap(({ long, short }) => [long ?? '', short ?? '']),
  );
  return args.filter((arg, at) => !arg.startsWith('-') && !withValue.has(args[at - 1] ?? '-'));
}

const commandNamed = ({ commands }: Command, name: string): Command | undefined =>
  commands.find((command) => command.name() === name || command.aliases().includes(name));

function unknownCommand({ commands }: Command, word: string): CliError {
  const names = commands.flatMap((command) => [command.name(), ...command.aliases()]);
  const similar = closestName(word, names);
  return usageError(
    `unknown command ${word}; ${similar === undefined ? 'see footbridge --help' : `did you mean ${similar}?`}`,
  );
}

/** Commander's message without its prefix and line breaks, and where to read more. */
function inOneLine(error: CommanderError, program: Command, words: readonly string[]): CliError {
  let command = program;
  const path = ['footbridge'];
  for (const word of words) {
    const next = commandNamed(command, word);
    if (next === undefined) break;
    command = next;
    path.push(next.name());
  }
  const name = path.join(' ');
  if (error.code === 'commander.help')
    return usageError(
      `${name} needs a subcommand: ${command.commands.map((one) => one.name()).join(', ')}`,
      error,
    );
  const [what = '', suggestion] = error.message.replace(/^error: /, '').split('\n');
  const advice = suggestion?.replace(/^\(Did you mean (.+)\?\)$/, 'did you mean $1?') ?? `see ${name} --help`;
  return usageError(`${what.replace(/\.$/, '')}; ${advice}`, error);
}

const bug = (error: unknown): CliError =>
  new CliError(`internal error: ${String(error)}`, {
    exitCode: EXIT.bug,
    next: 'this is a bug in footbridge, please report it',
    cause: error,
  });
