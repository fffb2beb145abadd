import { StartError } from '../errors.ts';

const USAGE_ERROR = 2;

const HELP = `Usage: npm start [-- --help | --version]

Starts the Footbridge service and runs until it gets SIGTERM or SIGINT.
It has no other options: settings come from the environment, or from a file
named .env in the current folder. .env.example lists them with their defaults.

  PORT, HOST               the public listener: CRM, Macs, health (4600, 0.0.0.0)
  ADMIN_PORT, ADMIN_HOST   the operator listener (4610, 127.0.0.1)
  DATA_DIR                 SQLite file, attachments, operator token (./data)

Exit codes: 0 stopped, 1 could not start, 2 unknown argument, 3 wrong setting,
70 bug, 75 the drain timed out.

To manage a running service: npx footbridge --help
`;

/** Returns the text to print instead of starting the service, or undefined without arguments. Throws a StartError for an unknown one. */
export function textInsteadOfStart(args: readonly string[], version: string): string | undefined {
  const texts: Readonly<Record<string, string>> = {
    '--help': HELP,
    '-h': HELP,
    '--version': `${version}\n`,
    '-V': `${version}\n`,
  };
  const unknown = args.find((arg) => !Object.hasOwn(texts, arg));
  if (unknown !== undefined)
    throw new StartError(
      [`unknown argument ${unknown}; settings come from the environment or .env, see --help`],
      USAGE_ERROR,
    );
  return texts[args[0] ?? ''];
}
