import type { Command } from 'commander';

import { EXIT, Failure } from '../failure.ts';
import type { OperatorClient } from '../operator-client.ts';
import { printable } from '../output.ts';
import { toolsOf } from '../tools.ts';

export interface License {
  readonly id: string;
  readonly label: string;
  readonly keyHint: string;
  readonly status: 'active' | 'suspended' | 'revoked';
  readonly maxSeats: number;
  readonly seats: { readonly used: number; readonly max: number };
  readonly createdAt: string;
}

const EXAMPLES = `
Examples:
  footbridge license create "Front office" --seats 5
  footbridge license suspend "Front office"`;

/** `footbridge license`: licenses and how many Macs they may activate. */
export function licenseCommand(program: Command): void {
  const license = program
    .command('license')
    .description('licenses and their seats')
    .addHelpText('after', EXAMPLES);

  license
    .command('create <label>')
    .description('make a license; its key is shown once')
    .option('--seats <number>', 'how many Macs may be active at the same time', '1')
    .action(async (label: string, { seats }: { seats: string }, command: Command) => {
      const { output, operator } = toolsOf(command);
      const body = { label, maxSeats: seatsOf(seats) };
      const made = await operator().call<CreatedLicense>('POST', '/operator/licenses', body);
      output.result(
        `${made.key}\n\n${printable(made.label)} has ${seatsText(made.maxSeats)}. Keep the key: it is not shown again.`,
        { ...made },
      );
      output.hint(`Next: on the Mac, footbridge-agent run --license ${made.key} --location LOCATION`);
    });

  license
    .command('list')
    .description('show all licenses')
    .action(async (_options: object, command: Command) => {
      const { output, operator } = toolsOf(command);
      output.rows(
        (await listLicenses(operator())).map((one) => ({ ...one })),
        [
          { title: 'ID', value: (row) => String(row['id']) },
          { title: 'LABEL', value: (row) => String(row['label']) },
          { title: 'KEY', value: (row) => `FB-…-${String(row['keyHint'])}` },
          { title: 'STATE', value: (row) => String(row['status']) },
          { title: 'SEATS', value: ({ seats }) => (isSeats(seats) ? `${seats.used} of ${seats.max}` : '') },
          { title: 'CREATED', value: (row) => String(row['createdAt']).slice(0, 10) },
        ],
        'There is no license yet. Make one with `footbridge license create LABEL --seats N`.',
      );
    });

  const deeds = [
    ['suspend', 'suspended', 'send its Macs away until it is resumed'],
    ['resume', 'active', 'let the Macs of a suspended license in again'],
  ] as const;
  for (const [name, status, description] of deeds)
    license
      .command(`${name} <license>`)
      .description(`${description}; by id, label or end of the key`)
      .action(async (wanted: string, _options: object, command: Command) => {
        const { output, operator } = toolsOf(command);
        const changed = await change(operator(), wanted, { status });
        output.result(`${printable(changed.label)} is ${changed.status}.`, { ...changed });
      });

  license
    .command('revoke <license>')
    .description('end a license for good; by id, label or end of the key')
    .action(async (wanted: string, _options: object, command: Command) => {
      const { output, operator, confirm } = toolsOf(command);
      const client = operator();
      const found = await findLicense(client, wanted);
      await confirm(
        `Revoke ${printable(found.label)} for good? Its ${found.seats.used} active Macs are sent away.`,
      );
      const changed = await change(client, found.id, { status: 'revoked' });
      output.result(`${printable(changed.label)} is revoked.`, { ...changed });
    });

  license
    .command('seats <license> <number>')
    .description('change how many Macs may be active at the same time')
    .action(async (wanted: string, seats: string, _options: object, command: Command) => {
      const { output, operator } = toolsOf(command);
      const changed = await change(operator(), wanted, { maxSeats: seatsOf(seats) });
      output.result(
        `${printable(changed.label)} has ${seatsText(changed.maxSeats)}, ${changed.seats.used} taken.`,
        { ...changed },
      );
    });
}

interface CreatedLicense {
  readonly id: string;
  readonly key: string;
  readonly label: string;
  readonly maxSeats: number;
}

export async function listLicenses(client: OperatorClient): Promise<readonly License[]> {
  return (await client.call<{ licenses: License[] }>('GET', '/operator/licenses')).licenses;
}

/** By id, by label, or by the last group of its key; one and only one must fit. */
export async function findLicense(client: OperatorClient, wanted: string): Promise<License> {
  const all = await listLicenses(client);
  const exact = all.find(({ id }) => id === wanted);
  if (exact !== undefined) return exact;
  const hint = wanted.toUpperCase().split('-').at(-1);
  const fitting = all.filter(({ label, keyHint }) => label === wanted || keyHint === hint);
  const [only] = fitting;
  if (only !== undefined && fitting.length === 1) return only;
  throw new Failure(
    only === undefined ? `no license is ${wanted}` : `${fitting.length} licenses are called ${wanted}`,
    {
      exitCode: EXIT.notFound,
      next: 'footbridge license list shows them with their ids',
    },
  );
}

async function change(client: OperatorClient, wanted: string, body: object): Promise<License> {
  const { id } = await findLicense(client, wanted);
  return await client.call<License>('PATCH', `/operator/licenses/${id}`, body);
}

function seatsOf(text: string): number {
  if (/^[1-9]\d{0,6}$/.test(text)) return Number(text);
  throw new Failure(`the number of seats must be a whole number from 1, not ${text}`, {
    exitCode: EXIT.usage,
  });
}

const seatsText = (count: number) => (count === 1 ? '1 seat' : `${count} seats`);

const isSeats = (value: unknown): value is { used: number; max: number } =>
  typeof value === 'object' && value !== null && 'used' in value && 'max' in value;
