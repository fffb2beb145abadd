import { parseArgs } from 'node:util';

import type { CampaignOptions } from './report.ts';

export type CommandLine =
  | { readonly command: 'help' }
  | {
      readonly command: 'run';
      readonly options: CampaignOptions;
      readonly out: string;
      readonly resume: boolean;
    }
  | { readonly command: 'shrink'; readonly report: string; readonly budget: number; readonly out: string };

export const HELP = `Sends messages both ways while nodes, servers, the CRM and Macs fail, and compares what both sides have.

  node scripts/run.mjs tests/nodes/campaign.ts [options]

  --messages N     messages each way (default 5000)
  --faults N       faults, among them the kills (default 150)
  --kills N        kill -9 of a node (default: a tenth of the faults)
  --nodes N        nodes of the service (default 4)
  --locations N    locations with two scripted Macs each (default 12)
  --agents N       locations with the real agent program (default 2)
  --round-size N   messages each way of one round (default 1000); each round starts servers and nodes of its own
  --seed N         the same seed injects the same faults in the same order (default 1)
  --out DIR        report.json, report.html and state.json (default .cache/campaign)
  --resume         continue after the last finished round in state.json; the other options must be the same
  --shrink REPORT  find fewer faults and messages with which the first failed round of a report.json still fails
  --budget N       rounds that --shrink may run (default 40)
  --help

The exit code is 0 when every score is 0, 1 when one is not, 2 when the options are wrong, 130 after SIGINT or SIGTERM.

Examples
  node scripts/run.mjs tests/nodes/campaign.ts --messages 40000 --faults 2000 --kills 200 --round-size 5000 --seed 7
  node scripts/run.mjs tests/nodes/campaign.ts --shrink .cache/campaign/report.json
`;

type NumberName = Exclude<keyof ReturnType<typeof read>, 'resume' | 'help'>;

export class OptionsError extends Error {
  override readonly name = 'OptionsError';
}

export function parseCommandLine(args: readonly string[]): CommandLine {
  const values = read(args);
  const numberOf = (name: NumberName, fallback: number, least: number) =>
    wholeNumber(name, values[name], fallback, least);
  const { out = '.cache/campaign', shrink: report } = values;
  if (values.help) return { command: 'help' };
  if (report !== undefined) return { command: 'shrink', report, out, budget: numberOf('budget', 40, 1) };
  const faults = numberOf('faults', 150, 1);
  const kills = numberOf('kills', Math.floor(faults / 10), 0);
  if (kills > faults) throw new OptionsError(`--kills ${kills} is more than --faults ${faults}.`);
  const options = {
    messages: numberOf('messages', 5000, 1),
    faults,
    kills,
    seed: numberOf('seed', 1, 0),
    nodes: numberOf('nodes', 4, 1),
    locations: numberOf('locations', 12, 1),
    agents: numberOf('agents', 2, 0),
    roundSize: numberOf('round-size', 1000, 1),
  };
  return { command: 'run', options, out, resume: values.resume };
}

function read(args: readonly string[]) {
  const string = { type: 'string' } as const;
  try {
    return parseArgs({
      args: [...args],
      options: {
        messages: string,
        faults: string,
        kills: string,
        nodes: string,
        locations: string,
        agents: string,
        'round-size': string,
        seed: string,
        out: string,
        shrink: string,
        budget: string,
        resume: { type: 'boolean', default: false },
        help: { type: 'boolean', default: false },
      },
    }).values;
  } catch (error) {
    throw new OptionsError(`${error instanceof Error ? error.message : String(error)} See --help.`, {
      cause: error,
    });
  }
}

function wholeNumber(name: string, value: string | undefined, fallback: number, least: number): number {
  if (value === undefined) return fallback;
  const number = Number(value);
  if (/^\d+$/.test(value) && number >= least) return number;
  throw new OptionsError(`--${name} must be a whole number from ${least}, not "${value}".`);
}
