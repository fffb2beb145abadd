import { ignoreDebuggerSignal } from '@footbridge/runtime/debugger-signal.js';
import type { Setting } from '@footbridge/runtime/settings';
import { Command, CommanderError } from 'commander';

import { activate, deactivate } from './commands/activate.ts';
import { doctor } from './commands/doctor.ts';
import { EXIT } from './commands/exit-codes.ts';
import { createOutput } from './commands/output.ts';
import type { Output } from './commands/output.ts';
import { move } from './commands/move.ts';
import { pair } from './commands/pair.ts';
import { logs } from './commands/logs.ts';
import { run } from './commands/run.ts';
import { selftest } from './commands/selftest.ts';
import { setup } from './commands/setup.ts';
import { status } from './commands/status.ts';
import { uninstall } from './commands/uninstall.ts';
import { update } from './commands/update.ts';
import { readConfig, readSettings } from './config/config.ts';
import type { ReadResult, Settings } from './config/config.ts';
import { SETTINGS } from './config/settings.ts';
import type { SettingName } from './config/settings.ts';
import { AGENT_VERSION } from './config/version.ts';
import { AgentCallError, ConfigurationError, InterruptedError } from './errors.ts';

ignoreDebuggerSignal();
const program = new Command('footbridge-agent')
  .description('Connects Messages on this Mac to a Footbridge service.')
  .version(AGENT_VERSION)
  .exitOverride()
  .configureHelp({ showGlobalOptions: true });

type Flags = Readonly<Record<string, unknown>>;
type Action = (flags: Flags, output: Output, args: readonly string[]) => number | Promise<number>;

command({
  name: 'run',
  about: 'Connects to the service and runs until it is stopped.',
  examples: [
    'footbridge-agent run --simulate --url http://127.0.0.1:4600 --location LOC --license KEY',
    'footbridge-agent run --simulate --macos 15.6 --url http://127.0.0.1:4600 --location LOC --license KEY',
  ],
  settings: [
    'url',
    'license',
    'location',
    'dataDir',
    'deviceId',
    'simulate',
    'macos',
    'controlPort',
    'allowLoopback',
    'channel',
    'engine',
    'logLevel',
  ],
  action: async (flags, output) => {
    const code = await run(readConfig(flags, process.env), process.env['FAILPOINTS'], output).catch(
      exitCodeOf,
    );
    // A program with an open macOS prompt must not be stopped, but would keep this process alive for minutes.
    process.exit(code);
  },
});

command({
  name: 'setup',
  about: 'Installs the agent on this Mac, asks for the permissions it needs and sends a test text.',
  examples: ['footbridge-agent setup', 'footbridge-agent setup --code K7QF-3M9X@bridge.example.com'],
  settings: ['url', 'license', 'location', 'engine'],
  options: [
    ['--code <code>', 'pairing code from the operator of the service'],
    ['--to <number>', 'own mobile number, which gets a test text'],
    ['--no-screen', 'switch off reactions, replies, effects and new groups, which need Accessibility'],
    ['--screen', 'switch reactions, replies, effects and new groups on again'],
  ],
  action: (flags, output) =>
    withSettings((settings) =>
      setup(
        {
          code: textOf(flags['code']),
          to: textOf(flags['to']),
          usesScreen: typeof flags['screen'] === 'boolean' ? flags['screen'] : undefined,
          choosesEngine: flags['engine'] !== undefined,
        },
        settings,
      ),
    )(flags, output, []),
});

command({
  name: 'update',
  about: 'Replaces the installed agent with this version and restarts it. Permissions stay.',
  examples: ['npx footbridge-agent@latest update'],
  settings: [],
  action: withSettings(update),
});

command({
  name: 'uninstall',
  about: 'Stops the agent, frees its seat and removes all its files, after a confirmation.',
  examples: ['footbridge-agent uninstall', 'footbridge-agent uninstall --yes'],
  settings: [],
  confirmed: 'do not ask for a confirmation',
  action: (flags, output) =>
    withSettings((settings) => uninstall({ yes: flags['yes'] === true }, settings, output))(
      flags,
      output,
      [],
    ),
});

command({
  name: 'logs',
  about: 'Prints the last lines of the log of an installed agent.',
  examples: ['footbridge-agent logs', 'footbridge-agent logs --lines 500 --json'],
  settings: ['dataDir'],
  options: [['--lines <count>', 'number of lines (default 100)']],
  action: (flags, output) =>
    withSettings((settings) =>
      logs({ lines: Number(flags['lines'] ?? 100), json: flags['json'] === true }, settings, output),
    )(flags, output, []),
});

command({
  name: 'pair <code>',
  about: 'Pairs this Mac with a service: takes a seat and saves the address and the location.',
  examples: ['footbridge-agent pair K7QF-3M9X@bridge.example.com'],
  settings: ['url', 'dataDir', 'deviceId'],
  action: (flags, output, [code = '']) =>
    withSettings((settings) => pair(code, settings, output))(flags, output, []),
});

command({
  name: 'activate',
  about: 'Activates this Mac, which takes a seat of the license.',
  examples: ['footbridge-agent activate --url https://bridge.example.com --license KEY'],
  settings: ['url', 'license', 'dataDir', 'deviceId'],
  action: withSettings(activate),
});

command({
  name: 'deactivate',
  about: 'Deactivates this Mac, which frees its seat.',
  examples: ['footbridge-agent deactivate --url https://bridge.example.com'],
  settings: ['url', 'dataDir', 'deviceId'],
  action: withSettings(deactivate),
});

command({
  name: 'status',
  about: 'Shows the state of the agent. Exit code 0 means running and connected.',
  examples: ['footbridge-agent status', 'footbridge-agent status --json'],
  settings: ['dataDir'],
  action: withSettings((settings, output) => status(settings.dataDir ?? '', output)),
});

command({
  name: 'move <location>',
  about:
    'Moves this Mac to another location. Deletes what is queued or not acknowledged, after a confirmation.',
  examples: ['footbridge-agent move LOC', 'footbridge-agent move LOC --yes'],
  settings: ['dataDir'],
  confirmed: 'do not ask for a confirmation',
  action: (flags, output, [location]) =>
    withSettings((settings) =>
      move(
        {
          dataDir: settings.dataDir ?? '',
          location: settings.location ?? '',
          yes: flags['yes'] === true,
        },
        output,
      ),
    )({ ...flags, location }, output, []),
});

command({
  name: 'doctor',
  about: 'Finds problems and shows how to fix them. Exit code 9 means there are some.',
  examples: ['footbridge-agent doctor', 'footbridge-agent doctor --selftest --to +15550100000'],
  settings: ['url', 'license', 'location', 'dataDir', 'simulate', 'macos', 'engine'],
  options: [
    ['--selftest', 'let the running agent try every capability, which takes some minutes'],
    ['--to <number>', 'own mobile number, which gets the messages of the selftest'],
    [
      '--group <numbers>',
      'two or more of your own numbers or addresses, separated by commas, for the group of the selftest',
    ],
    ['--lock', 'let the selftest ask you to lock the screen, and send a text while it is locked'],
    ['--kill', 'let the selftest kill the agent while it sends a text; macOS starts it again'],
  ],
  action: (flags, output) =>
    withSettings((settings) =>
      flags['selftest'] === true
        ? selftest(
            {
              to: textOf(flags['to']),
              group: textOf(flags['group']),
              lock: flags['lock'] === true,
              kill: flags['kill'] === true,
            },
            settings,
            output,
          )
        : doctor(settings, output),
    )(flags, output, []),
});

/** Adds a command. Its options come from the table of settings. */
function command(definition: {
  name: string;
  about: string;
  examples: readonly string[];
  settings: readonly SettingName[];
  /** Options that are not settings. */
  options?: readonly (readonly [flag: string, about: string])[];
  /** The text of `--yes`, for a command that asks. */
  confirmed?: string;
  action: Action;
}): void {
  const built = program.command(definition.name).description(definition.about).option('--json', 'print JSON');
  for (const name of definition.settings) {
    const { flag, name: variable, about, fallback }: Setting = SETTINGS[name];
    const preset = fallback === undefined || fallback === 'false' ? '' : `, default ${fallback}`;
    if (flag !== undefined) built.option(flag, `${about} (${variable}${preset})`);
  }
  for (const [flag, about] of definition.options ?? []) built.option(flag, about);
  if (definition.confirmed !== undefined) built.option('--yes', definition.confirmed);
  built.addHelpText(
    'after',
    `\nExamples:\n${definition.examples.map((example) => `  ${example}`).join('\n')}`,
  );
  built.action(async () => {
    const flags: Flags = built.opts();
    const output = createOutput(flags['json'] === true || !process.stdout.isTTY);
    process.exitCode = await definition.action(flags, output, built.args);
  });
}

const textOf = (flag: unknown): string | undefined => (typeof flag === 'string' ? flag : undefined);

function withSettings(action: (settings: Settings, output: Output) => number | Promise<number>): Action {
  return async (flags, output) => {
    const read = readSettings(flags, process.env);
    return read.ok ? await action(read.value, output) : misconfigured(read, output);
  };
}

function misconfigured(read: Extract<ReadResult<unknown>, { ok: false }>, output: Output): number {
  for (const problem of read.problems) output.problem(problem);
  return EXIT.configuration;
}

/** Prints the error, and returns its exit code. */
function exitCodeOf(error: unknown): number {
  if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.done : EXIT.usage;
  if (error instanceof AgentCallError) {
    console.error(`${error.message}. Next: footbridge-agent setup on a Mac, or footbridge-agent run`);
    return EXIT.failed;
  }
  if (error instanceof ConfigurationError || error instanceof InterruptedError) {
    console.error(error.message);
    return error instanceof ConfigurationError ? EXIT.configuration : EXIT.interrupted;
  }
  console.error(error);
  return EXIT.bug;
}

try {
  await program.parseAsync();
} catch (error) {
  process.exitCode = exitCodeOf(error);
}
