import { parseArgs } from 'node:util';

export interface Options {
  readonly headless: boolean;
  readonly json: boolean;
  readonly port: number;
}

type Read = { readonly options: Options } | { readonly help: string } | { readonly problem: string };

const USAGE = `npm run demo -- [--port 4640] [--headless] [--json]

  --port N     where the page is served; the next free port when it is taken, any with 0
  --headless   no page: tells the story, breaks everything, and ends with 0 only if every promise held
  --json       one JSON object a line
`;

export function readOptions(args: readonly string[]): Read {
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
      return { problem: `--port is a number from 0 to 65535.\n\n${USAGE}` };
    return { options: { ...rest, port: Number(port) } };
  } catch (error) {
    return { problem: `${error instanceof Error ? error.message : String(error)}\n\n${USAGE}` };
  }
}
