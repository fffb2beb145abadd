import { Command } from 'commander';

import { EXIT, CliError, ExitError } from './cli-error.ts';
import type { Io } from './io.ts';
import { createOperatorClient } from './operator-client.ts';
import type { OperatorClient } from './operator-client.ts';
import { httpUrl, seconds } from './option-values.ts';
import { createOutput } from './output.ts';
import type { Output, Row } from './output.ts';
import { ask } from './prompt.ts';
import { describeTarget, serviceTarget } from './service-target.ts';
import type { ServiceTarget } from './service-target.ts';

/** The objects that a command's action uses, created from the options that all commands share. */
export interface CommandContext {
  readonly io: Io;
  readonly output: Output;
  /** The service that the options and the environment name. */
  readonly target: () => ServiceTarget;
  readonly operator: () => OperatorClient;
  /** How long to wait for a response. */
  readonly timeoutMs: number;
  /** `--no-input`: the command must not prompt. */
  readonly noInput: boolean;
  /**
   * In a dry run, prints what would change and exits with code 0. Otherwise does nothing. A command calls it before it changes
   * anything itself; the operator client calls it before each request that changes something.
   */
  readonly beforeChange: (change: string, data?: Row) => void;
  /** `--dry-run`: the command must not change anything. */
  readonly dryRun: boolean;
  /** The value of `--token-file`. */
  readonly tokenFile: string | undefined;
  /** Asks for confirmation of a destructive action. Throws if the user declines, or without a terminal unless `--yes` is given. */
  readonly confirm: (question: string) => Promise<void>;
}

/** The command `footbridge`, with the parts of the process that its subcommands use. */
export class RootCommand extends Command {
  readonly io: Io;

  constructor(io: Io) {
    super('footbridge');
    this.io = io;
  }
}

const DEFAULT_TIMEOUT_SEC = 10;

export function addSharedOptions(program: Command): void {
  program
    .option('--json', 'print JSON, one object per line (the default when the output is piped)')
    .option('-q, --quiet', 'do not print hints')
    .option('-y, --yes', 'do not ask for confirmation')
    .option('--no-input', 'never prompt; fail instead')
    .option('-n, --dry-run', 'print what would change, and change nothing')
    .option('--utc', 'print times in UTC (default: the local time zone)')
    .option('-v, --verbose', 'print which service the command talks to')
    .option('--profile <name>', 'a service saved by footbridge login')
    .option('--url <url>', 'operator API of the service (default: see below)', httpUrl)
    .option('--token-file <file>', 'file with the operator token (default: see below)')
    .option(
      '--timeout <seconds>',
      `how long to wait for a response (default: ${DEFAULT_TIMEOUT_SEC})`,
      seconds,
    );
}

interface SharedOptions {
  json?: boolean;
  quiet?: boolean;
  yes?: boolean;
  input?: boolean;
  dryRun?: boolean;
  verbose?: boolean;
  profile?: string;
  url?: string;
  tokenFile?: string;
  timeout?: number;
}

export function contextOf(command: Command): CommandContext {
  const io = ioOf(command);
  const {
    json = false,
    quiet = false,
    yes = false,
    input = true,
    dryRun = false,
    verbose = false,
    timeout = DEFAULT_TIMEOUT_SEC,
    ...named
  } = command.optsWithGlobals<SharedOptions>();
  const target = () => serviceTarget(named, io.env);
  const output = createOutput({ json, quiet }, io.stdout, io.stderr);
  const beforeChange = (change: string, data: Row = {}): void => {
    if (!dryRun) return;
    output.result(`Dry run: would ${change}. Nothing was changed.`, { dryRun, would: change, ...data });
    throw new ExitError(EXIT.done);
  };
  return {
    io,
    output,
    dryRun,
    beforeChange,
    target,
    timeoutMs: timeout * 1000,
    noInput: !input,
    tokenFile: named.tokenFile,
    operator() {
      const service = target();
      if (verbose) io.stderr.write(`${describeTarget(service)}\n`);
      return createOperatorClient(service, timeout * 1000, beforeChange);
    },
    async confirm(question) {
      if (yes || dryRun) return;
      const because = input ? 'stdin or stderr is not a terminal' : '--no-input is given';
      if (!input || !io.stdin.isTTY || !io.stderr.isTTY)
        throw new CliError(`${question} Cannot ask for confirmation: ${because}.`, {
          exitCode: EXIT.usage,
          next: 'pass --yes to confirm',
        });
      if (!/^y(es)?$/i.test(await ask(io, `${question} [y/N] `)))
        throw new CliError('cancelled, nothing was changed');
    },
  };
}

function ioOf(command: Command): Io {
  let root: Command | null = command;
  while (root !== null && !(root instanceof RootCommand)) root = root.parent;
  if (root === null) throw new Error(`${command.name()} is not a command of footbridge`);
  return root.io;
}
