import type { Command } from 'commander';

import { EXIT, Failure } from '../failure.ts';
import type { OperatorClient } from '../operator-client.ts';
import type { Output } from '../output.ts';
import { printable } from '../output.ts';
import type { ServerSentEvent } from '../server-sent-events.ts';
import { toolsOf } from '../tools.ts';
import { arrow, clock, lengthOf, stepWords } from './message-words.ts';
import type { Message, Step } from './message-words.ts';

interface Options {
  readonly location?: string;
  readonly dir?: string;
  readonly status?: string;
  readonly code?: string;
  readonly since?: string;
  readonly steps?: boolean;
  readonly follow: boolean;
}

/** One event of the live feed. */
interface Happening extends Step {
  readonly id: string;
  readonly status: string | null;
  readonly code: string | null;
  readonly direction: 'outbound' | 'inbound' | null;
  readonly locationId: string | null;
  readonly messageId: string | null;
  readonly kind: string | null;
  readonly length: number | null;
}

type Filter = (one: Pick<Happening, 'locationId' | 'direction' | 'status' | 'code'>) => boolean;

const EXAMPLES = `
Examples:
  footbridge tail --since 10m
  footbridge tail --location ve9EPM428h8vShlRW1KT --dir in --status undeliverable --no-follow`;

const FEED = '/operator/events';
const COME_BACK_MS = 1000;
const PAGE = 200;

/** `footbridge tail`: what happens to messages, as it happens. */
export function tailCommand(program: Command): void {
  program
    .command('tail')
    .description('messages as they pass, live')
    .option('--location <id>', 'only this location')
    .option('--dir <in|out>', 'only inbound (from Macs) or outbound (to Macs)')
    .option('--status <status>', 'only messages in this state: failed, undeliverable, delivered, …')
    .option('--code <code>', 'only messages with this code')
    .option('--since <time>', 'first show what passed in the last 30s, 10m, 2h or 1d')
    .option('--steps', 'show every step, not only what became of messages')
    .option('--no-follow', 'do not wait for more')
    .addHelpText('after', EXAMPLES)
    .action(async (options: Options, command: Command) => {
      const { output, operator } = toolsOf(command);
      const filter = filterOf(options);
      const from = options.since === undefined ? undefined : Date.now() - milliseconds(options.since);
      const client = operator();
      // Listening begins before the past is read: nothing falls in between.
      const live = options.follow ? await client.events(FEED) : undefined;
      const past = from === undefined ? [] : await pastOf(client, from, options);
      const shown = past.filter(filter);
      for (const message of shown) output.result(lineOf(message, message.updatedAt), { ...message });
      const told = new Set(shown.map(nameOf));
      const print = (one: Happening) => {
        if ((one.status === null && options.steps !== true) || !filter(one)) return;
        if (told.delete(nameOf(one))) return;
        const words = options.steps === true ? `  ${stepWords(one)}` : '';
        output.result(lineOf(one, one.at) + words, { ...one });
      };
      if (live !== undefined) await follow(client, live, output, print);
    });
}

/** Oldest first. */
async function pastOf(client: OperatorClient, from: number, options: Options): Promise<Message[]> {
  const found: Message[] = [];
  const query = new URLSearchParams({ limit: String(PAGE) });
  if (options.location !== undefined) query.set('locationId', options.location);
  if (options.status !== undefined) query.set('status', options.status);
  for (;;) {
    const page = await client.call<{ messages: Message[]; cursor: string | null }>(
      'GET',
      `/operator/messages?${query.toString()}`,
    );
    const young = page.messages.filter(({ createdAt }) => Date.parse(createdAt) >= from);
    found.push(...young);
    if (page.cursor === null || young.length < page.messages.length) return found.toReversed();
    query.set('cursor', page.cursor);
  }
}

const nameOf = ({ id, status }: Pick<Happening, 'id' | 'status'>) => `${id} ${status ?? ''}`;

/** Until somebody ends it. A connection that breaks is taken up where it broke. */
async function follow(
  client: OperatorClient,
  first: AsyncIterable<ServerSentEvent>,
  output: Output,
  print: (one: Happening) => void,
): Promise<void> {
  let lastId: string | undefined;
  for (let live = first; ; live = await comeBack(client, output, lastId)) {
    for await (const event of live) {
      if (event.name === 'gap') output.hint('… something was missed here');
      if (event.name !== 'message') continue;
      lastId = event.id;
      print(JSON.parse(event.data) as Happening);
    }
  }
}

async function comeBack(
  client: OperatorClient,
  output: Output,
  lastId: string | undefined,
): Promise<AsyncIterable<ServerSentEvent>> {
  output.hint('the connection broke; trying again');
  for (;;) {
    await new Promise((resolve) => setTimeout(resolve, COME_BACK_MS));
    try {
      return await client.events(FEED, lastId);
    } catch (error) {
      if (!(error instanceof Failure) || error.exitCode !== EXIT.unreachable) throw error;
    }
  }
}

function lineOf(
  one: Pick<Happening, 'direction' | 'locationId' | 'kind' | 'length' | 'status' | 'code'> & {
    id: string;
    messageId: string | null;
  },
  at: string,
): string {
  const explain = one.code === null ? '' : `  (footbridge explain ${one.code})`;
  return printable(
    [
      clock(at),
      arrow(one),
      one.locationId ?? '',
      one.messageId ?? one.id,
      `${one.kind ?? ''} ${lengthOf(one)}`.trim(),
      `${one.status ?? ''}${one.code === null ? '' : `  ${one.code}`}${explain}`,
    ]
      .filter((part) => part !== '')
      .join('  '),
  );
}

function filterOf({ location, dir, status, code }: Options): Filter {
  if (dir !== undefined && dir !== 'in' && dir !== 'out')
    throw new Failure(`--dir must be in or out, not ${dir}`, { exitCode: EXIT.usage });
  const direction = dir === undefined ? undefined : dir === 'in' ? 'inbound' : 'outbound';
  return (one) =>
    (location === undefined || one.locationId === location) &&
    (direction === undefined || one.direction === direction) &&
    (status === undefined || one.status === status) &&
    (code === undefined || one.code === code);
}

const UNITS: Readonly<Record<string, number>> = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };

function milliseconds(text: string): number {
  const [, number, unit = ''] = /^(\d{1,6})([smhd])$/.exec(text) ?? [];
  if (number === undefined)
    throw new Failure(`--since must be a time such as 30s, 10m, 2h or 1d, not ${text}`, {
      exitCode: EXIT.usage,
    });
  return Number(number) * (UNITS[unit] ?? 0);
}
