import { parseArgs } from 'node:util';

export interface Options {
  readonly headless: boolean;
  readonly json: boolean;
  readonly port: number;
}

type ReadOptions = { readonly options: Options } | { readonly help: string } | { readonly problem: string };

const USAGE = `npm run demo -- [--port 4640] [--headless] [--json]

  --port N     the port of the page; the next free one if it is in use, any free one for 0
  --headless   no page: run the conversation and all failure scenarios; exit code 0 if every guarantee held
  --json       print one JSON object per line
`;

export function readOptions(args: readonly string[]): ReadOptions {
  try {
    const { help, port, ...rest } = parseArgs({
      args: [...args],
      options: {
        headless: { type: 'boolean', default: false },
        json: { type: 'boolean', default: false },
        port: { type: 'string', default: '4640' },
        help: { type: 'boolean', default: false },
      },
    }).values;
    if (help) return { help: USAGE };
    if (!/^\d{1,5}$/.test(port) || Number(port) > 65_535)
      return { problem: `--port must be a number from 0 to 65535.\n\n${USAGE}` };
    return { options: { ...rest, port: Number(port) } };
  } catch (error) {
    return { problem: `${error instanceof Error ? error.message : String(error)}\n\n${USAGE}` };
  }
}
