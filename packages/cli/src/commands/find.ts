import { listMessages } from '@footbridge/protocol/operator/messages';
import type { Command } from 'commander';

import { usageError } from '../cli-error.ts';
import { contextOf } from '../command-context.ts';
import { localTime } from '../format-time.ts';
import { directionOption, duration, wholeNumber } from '../option-values.ts';
import { PHONE_HELP, phoneOf } from '../phone-option.ts';
import { arrow, lengthOf } from './format-message.ts';

interface Options {
  readonly phone?: string;
  readonly contact?: string;
  readonly location?: string;
  readonly dir?: 'in' | 'out';
  readonly status?: string;
  readonly code?: string;
  readonly since?: number;
  readonly limit: number;
}

const EXAMPLES = `
Examples:
  footbridge find --phone +14155550100
  footbridge find --phone +14155550100 --since 1d --dir out`;

/** `footbridge find --phone NUMBER`: messages from or to a person, newest first. The service compares keyed hashes. */
export function findCommand(program: Command): void {
  program
    .command('find')
    .option('--phone <number>', PHONE_HELP)
    .option('--contact <id>', 'the contact id of the person in the CRM')
    .option('--location <id>', 'only messages of this location')
    .addOption(directionOption())
    .option('--status <status>', 'only messages with this status: failed, undeliverable, delivered, …')
    .option('--code <code>', 'only messages with this code')
    .option('--since <time>', 'only messages of the last 30s, 10m, 2h or 1d', duration)
    .option('--limit <count>', 'number of messages, at most 200', wholeNumber(1, 200), 20)
    .addHelpText('after', EXAMPLES)
    .action(async (options: Options, command: Command) => {
      const { output, operator } = contextOf(command);
      if (options.phone === undefined && options.contact === undefined)
        throw usageError('find needs --phone or --contact; footbridge tail shows all messages');
      const { messages } = await operator().ask(listMessages, queryOf(options));
      output.rows(
        messages,
        [
          { title: 'TIME', value: ({ createdAt }) => localTime(createdAt) },
          { title: '', value: arrow },
          { title: 'LOCATION', value: ({ locationId }) => locationId },
          { title: 'MESSAGE', value: ({ messageId, id }) => messageId ?? id },
          {
            title: 'KIND',
            value: (message) => `${message.kind} ${lengthOf(message)}`,
          },
          { title: 'STATUS', value: ({ status }) => status },
          { title: 'CODE', value: ({ code }) => code ?? '' },
        ],
        'No messages found. The journal keeps messages for JOURNAL_RETENTION_DAYS, 30 by default.',
      );
      if (messages.length > 0) output.hint('To see what became of one: footbridge show MESSAGE');
    });
}

function queryOf({ phone, contact, location, dir, status, code, since, limit }: Options) {
  return {
    limit,
    ...(phone !== undefined && { phone: phoneOf(phone) }),
    ...(contact !== undefined && { contactId: contact }),
    ...(location !== undefined && { locationId: location }),
    ...(dir !== undefined && { direction: DIRECTIONS[dir] }),
    ...(status !== undefined && { status }),
    ...(code !== undefined && { code }),
    ...(since !== undefined && { from: new Date(Date.now() - since).toISOString() }),
  };
}

const DIRECTIONS = { in: 'inbound', out: 'outbound' } as const;
