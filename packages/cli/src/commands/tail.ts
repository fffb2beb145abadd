import type { ResponseOf } from '@footbridge/protocol/operator/call';
import { messageEvent } from '@footbridge/protocol/operator/events';
import { listMessages } from '@footbridge/protocol/operator/messages';
import { readJson } from '@footbridge/protocol/read-json';
import { checkAgainst } from '@footbridge/protocol/schema';
import type { FromSchema } from '@footbridge/protocol/schema';
import { printable } from '@footbridge/runtime/printable';
import type { Command } from 'commander';

import { EXIT, CliError } from '../cli-error.ts';
import type { OperatorClient } from '../operator-client.ts';
import type { Output } from '../output.ts';
import type { ServerSentEvent } from '../server-sent-events.ts';
import { contextOf } from '../command-context.ts';
import { clock } from '../format-time.ts';
import { directionOption, duration } from '../option-values.ts';
import { arrow, lengthOf, describeStep } from './format-message.ts';

interface Options {
  readonly location?: string;
  readonly dir?: 'in' | 'out';
  readonly status?: string;
  readonly code?: string;
  readonly since?: number;
  readonly steps?: boolean;
  readonly follow: boolean;
}

type FeedEvent = FromSchema<typeof messageEvent>;
type Message = ResponseOf<typeof listMessages>['messages'][number];

type Filter = (event: Pick<FeedEvent, 'locationId' | 'direction' | 'status' | 'code'>) => boolean;

const EXAMPLES = `
Examples:
  footbridge tail --since 10m
  footbridge tail --location ve9EPM428h8vShlRW1KT --dir in --status undeliverable --no-follow`;

const FEED = '/operator/events';
const RECONNECT_MS = 1000;
const PAGE_SIZE = 200;

/** `footbridge tail`: a live feed of messages. */
export function tailCommand(program: Command): void {
  program
    .command('tail')
    .option('--location <id>', 'only messages of this location')
    .addOption(directionOption())
    .option('--status <status>', 'only messages with this status: failed, undeliverable, delivered, …')
    .option('--code <code>', 'only messages with this code')
    .option('--since <time>', 'first show the messages of the last 30s, 10m, 2h or 1d', duration)
    .option('--steps', 'show every step, not only status changes')
    .option('--no-follow', 'exit instead of waiting for new messages')
    .addHelpText('after', EXAMPLES)
    .action(async (options: Options, command: Command) => {
      const { output, operator } = contextOf(command);
      const filter = filterOf(options);
      const from = options.since === undefined ? undefined : Date.now() - options.since;
      const client = operator();
      // Subscribe before reading the journal, so that no message is missed in between.
      const live = options.follow ? await client.events(FEED) : undefined;
      const past = from === undefined ? [] : await messagesSince(client, from, options);
      const shown = past.filter(filter);
      for (const message of shown) output.result(formatLine(message, message.updatedAt), { ...message });
      const printed = new Set(shown.map(keyOf));
      const print = (event: FeedEvent) => {
        if ((event.status === null && options.steps !== true) || !filter(event)) return;
        if (printed.delete(keyOf(event))) return;
        const step = options.steps === true ? `  ${describeStep(event)}` : '';
        output.result(formatLine(event, event.at) + step, { ...event });
      };
      if (live !== undefined) await follow(client, live, output, print);
    });
}

/** Returns messages from the journal, oldest first. */
async function messagesSince(client: OperatorClient, from: number, options: Options): Promise<Message[]> {
  const found: Message[] = [];
  let cursor: string | undefined;
  for (;;) {
    const page: ResponseOf<typeof listMessages> = await client.ask(listMessages, {
      limit: PAGE_SIZE,
      ...(options.location !== undefined && { locationId: options.location }),
      ...(options.status !== undefined && { status: options.status }),
      ...(cursor !== undefined && { cursor }),
    });
    const recent = page.messages.filter(({ createdAt }) => Date.parse(createdAt) >= from);
    found.push(...recent);
    if (page.cursor === null || recent.length < page.messages.length) return found.toReversed();
    ({ cursor } = page);
  }
}

const keyOf = ({ id, status }: Pick<FeedEvent, 'id' | 'status'>) => `${id} ${status ?? ''}`;

/** Prints events until the process is terminated. Reconnects after the last event when the connection breaks. */
async function follow(
  client: OperatorClient,
  first: AsyncIterable<ServerSentEvent>,
  output: Output,
  print: (event: FeedEvent) => void,
): Promise<void> {
  let lastId: string | undefined;
  for (let live = first; ; live = await reconnect(client, output, lastId)) {
    for await (const event of live) {
      if (event.name === 'gap') output.hint('… some events were missed here');
      if (event.name !== 'message') continue;
      lastId = event.id;
      print(feedEvent(client, event.data));
    }
  }
}

function feedEvent({ url }: OperatorClient, data: string): FeedEvent {
  const checked = checkAgainst(messageEvent, readJson(data));
  if (checked.ok) return checked.value;
  throw new CliError(`${url} does not send the events of a Footbridge service`, {
    exitCode: EXIT.unreachable,
  });
}

async function reconnect(
  client: OperatorClient,
  output: Output,
  lastId: string | undefined,
): Promise<AsyncIterable<ServerSentEvent>> {
  output.hint('connection lost, reconnecting');
  for (;;) {
    await new Promise((resolve) => setTimeout(resolve, RECONNECT_MS));
    try {
      return await client.events(FEED, lastId);
    } catch (error) {
      if (!(error instanceof CliError) || error.exitCode !== EXIT.unreachable) throw error;
    }
  }
}

function formatLine(event: Omit<FeedEvent, 'at' | 'step' | 'detail'>, at: string): string {
  const { code, status } = event;
  const explain = code === null ? '' : `  ${code}  (footbridge explain ${code})`;
  return printable(
    [
      clock(at),
      arrow(event),
      event.locationId ?? '',
      event.messageId ?? event.id,
      `${event.kind ?? ''} ${lengthOf(event)}`.trim(),
      `${status ?? ''}${explain}`,
    ]
      .filter((part) => part !== '')
      .join('  '),
  );
}

function filterOf({ location, dir, status, code }: Options): Filter {
  const direction = dir === undefined ? undefined : dir === 'in' ? 'inbound' : 'outbound';
  return (event) =>
    (location === undefined || event.locationId === location) &&
    (direction === undefined || event.direction === direction) &&
    (status === undefined || event.status === status) &&
    (code === undefined || event.code === code);
}
