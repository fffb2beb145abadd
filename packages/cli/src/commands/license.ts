import { changeLicense, createLicense, listLicenses as list } from '@footbridge/protocol/operator/accounts';
import type { BodyOf, ResponseOf } from '@footbridge/protocol/operator/call';
import { everyPage } from '@footbridge/protocol/operator/every-page';
import { counted } from '@footbridge/runtime/counted';
import { printable } from '@footbridge/runtime/printable';
import type { Command } from 'commander';

import { EXIT, CliError } from '../cli-error.ts';
import type { OperatorClient } from '../operator-client.ts';
import { contextOf } from '../command-context.ts';
import { wholeNumber } from '../option-values.ts';

export type License = ResponseOf<typeof changeLicense>;

const seatsOf = wholeNumber(1, 1_000_000);

const EXAMPLES = `
Examples:
  footbridge license create "Front office" --seats 5
  footbridge license suspend "Front office"`;

/** `footbridge license`: licenses and their seats. */
export function licenseCommand(program: Command): void {
  const license = program.command('license').addHelpText('after', EXAMPLES);

  license
    .command('create <label>')
    .description('create a license; its key is shown only once')
    .option('--seats <number>', 'maximum number of active Macs', seatsOf, 1)
    .action(async (label: string, { seats }: { seats: number }, command: Command) => {
      const { output, operator } = contextOf(command);
      const created = await operator().ask(createLicense, { label, maxSeats: seats });
      output.result(
        `${created.key}\n\n${printable(created.label)} has ${seatsText(created.maxSeats)}. Save the key now: it will not be shown again.`,
        { ...created },
      );
      output.hint(
        `Next: footbridge-agent run --simulate --url URL --location LOCATION --license ${created.key}`,
      );
    });

  license
    .command('list')
    .description('list all licenses')
    .action(async (_options: object, command: Command) => {
      const { output, operator } = contextOf(command);
      output.rows(
        await listLicenses(operator()),
        [
          { title: 'ID', value: ({ id }) => id },
          { title: 'LABEL', value: ({ label }) => label },
          { title: 'KEY', value: ({ keyHint }) => `FB-…-${keyHint}` },
          { title: 'STATE', value: ({ status }) => status },
          { title: 'SEATS', value: ({ seats }) => `${seats.used} of ${seats.max}` },
          { title: 'CREATED', value: ({ createdAt }) => createdAt.slice(0, 10) },
        ],
        'There are no licenses. Create one with `footbridge license create LABEL --seats N`.',
      );
    });

  const statusChanges = [
    ['suspend', 'suspended', 'disconnect all Macs of a license until it is resumed'],
    ['resume', 'active', 'let the Macs of a suspended license connect again'],
  ] as const;
  for (const [name, status, description] of statusChanges)
    license
      .command(`${name} <license>`)
      .description(`${description}; by id, label or last group of the key`)
      .action(async (wanted: string, _options: object, command: Command) => {
        const { output, operator } = contextOf(command);
        const changed = await change(operator(), wanted, { status });
        output.result(`${printable(changed.label)} is ${changed.status}.`, { ...changed });
      });

  license
    .command('revoke <license>')
    .description('revoke a license permanently; by id, label or last group of the key')
    .action(async (wanted: string, _options: object, command: Command) => {
      const { output, operator, confirm } = contextOf(command);
      const client = operator();
      const found = await findLicense(client, wanted);
      await confirm(
        `Permanently revoke ${printable(found.label)}? Its active Macs (${found.seats.used}) will be disconnected.`,
      );
      const changed = await change(client, found.id, { status: 'revoked' });
      output.result(`${printable(changed.label)} is revoked.`, { ...changed });
    });

  license
    .command('seats')
    .argument('<license>')
    .argument('<number>', 'maximum number of active Macs', seatsOf)
    .description('change the maximum number of active Macs')
    .action(async (wanted: string, seats: number, _options: object, command: Command) => {
      const { output, operator } = contextOf(command);
      const changed = await change(operator(), wanted, { maxSeats: seats });
      output.result(
        `${printable(changed.label)} has ${seatsText(changed.maxSeats)}, ${changed.seats.used} in use.`,
        { ...changed },
      );
    });
}

export const listLicenses = (client: OperatorClient): Promise<readonly License[]> =>
  everyPage(
    (page) => client.ask(list, page),
    ({ licenses }) => licenses,
  );

/** Finds a license by its id, its label or the last group of its key. Throws unless exactly one license matches. */
export async function findLicense(client: OperatorClient, wanted: string): Promise<License> {
  const all = await listLicenses(client);
  const exact = all.find(({ id }) => id === wanted);
  if (exact !== undefined) return exact;
  const hint = wanted.toUpperCase().split('-').at(-1);
  const matches = all.filter(({ label, keyHint }) => label === wanted || keyHint === hint);
  const [only] = matches;
  if (only !== undefined && matches.length === 1) return only;
  throw new CliError(
    only === undefined ? `no license matches ${wanted}` : `${matches.length} licenses match ${wanted}`,
    {
      exitCode: EXIT.notFound,
      next: 'run footbridge license list to see their ids',
    },
  );
}

async function change(
  client: OperatorClient,
  wanted: string,
  body: BodyOf<typeof changeLicense>,
): Promise<License> {
  const { id } = await findLicense(client, wanted);
  return await client.ask(changeLicense, { id, ...body });
}

const seatsText = (count: number) => counted(count, 'seat');
