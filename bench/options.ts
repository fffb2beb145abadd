import { resolve } from 'node:path';
import { parseArgs } from 'node:util';

export const SECTIONS = [
  'outbound',
  'inbound',
  'rejections',
  'latency',
  'slow-crm',
  'macs',
  'keys',
  'confirmations',
  'nodes',
  'memory',
] as const;

export type Section = (typeof SECTIONS)[number];

const CANDIDATES = ['floor', 'floor again', 'fast floor', 'durable floor', 'footbridge'];

export interface Options {
  readonly quick: boolean;
  readonly sections: readonly Section[];
  /** The names of candidates to leave out. */
  readonly without: readonly string[];
  readonly rounds: number;
  readonly messages: number;
  readonly macs: number;
  readonly memoryMessages: number;
  readonly crmTls: boolean;
  readonly profileFolder: string | undefined;
  readonly record: boolean;
  readonly guard: boolean;
}

const HELP = `npm run bench -- [options]

  --quick                measure only the CPU cost per message, in at most 90 s
  --only SECTION[,…]     ${SECTIONS.join(', ')}
  --without NAME[,…]     leave out: ${CANDIDATES.slice(1).join(', ')}
  --rounds N             number of rounds; every candidate runs once per round (12)
  --messages N           messages per candidate and round (1000)
  --macs N               connected Macs (1000)
  --memory-messages N    number of messages in the memory run (200000)
  --crm tls|http         protocol of the simulated CRM; the real one uses TLS (tls)
  --profile FOLDER       also write V8 CPU profiles and a summary of the time by path to this folder
  --record               record the ratios for --guard on this architecture
  --guard                only compare a short run with the record; exit code 1 if a message costs 50 % more
`;

/** Returns the options, or the text to print instead of running. */
export function readOptions(args: string[]): Options | string {
  const { values } = parseArgs({
    args,
    options: {
      quick: { type: 'boolean', default: false },
      only: { type: 'string' },
      without: { type: 'string', default: '' },
      rounds: { type: 'string' },
      messages: { type: 'string' },
      macs: { type: 'string', default: '1000' },
      'memory-messages': { type: 'string', default: '200000' },
      crm: { type: 'string', default: 'tls' },
      profile: { type: 'string' },
      record: { type: 'boolean', default: false },
      guard: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) return HELP;
  const { quick } = values;
  const wanted = values.only?.split(',') ?? (quick ? ['outbound', 'inbound', 'rejections'] : SECTIONS);
  const sections = SECTIONS.filter((section) => wanted.includes(section));
  if (sections.length !== wanted.length)
    return `--only must be one or more of ${SECTIONS.join(', ')}\n\n${HELP}`;
  if (values.crm !== 'tls' && values.crm !== 'http') return `--crm must be tls or http\n\n${HELP}`;
  return {
    quick,
    sections,
    without: values.without.split(','),
    rounds: Number(values.rounds ?? 12),
    messages: Number(values.messages ?? (quick ? 250 : 1000)),
    macs: Number(values.macs),
    memoryMessages: Number(values['memory-messages']),
    crmTls: values.crm === 'tls',
    profileFolder: values.profile === undefined ? undefined : resolve(values.profile),
    record: values.record,
    guard: values.guard,
  };
}
