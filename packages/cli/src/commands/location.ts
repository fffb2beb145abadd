import {
  assignLocation,
  deleteLocation,
  disconnectLocation,
  listLocations,
  nameLocation,
  unnameLocation,
} from '@footbridge/protocol/operator/accounts';
import { everyPage } from '@footbridge/protocol/operator/every-page';
import { printable } from '@footbridge/runtime/printable';
import type { Command } from 'commander';

import { contextOf } from '../command-context.ts';
import { EXIT, CliError, usageError } from '../cli-error.ts';
import { localTime } from '../format-time.ts';
import type { OperatorClient } from '../operator-client.ts';
import { describeLocation } from './describe-location.ts';
import type { Location } from './describe-location.ts';
import { findLicense } from './license.ts';

const EXAMPLES = `
Examples:
  footbridge location list
  footbridge location show ve9EPM428h8vShlRW1KT
  footbridge location rename ve9EPM428h8vShlRW1KT "Smile Dental"
  footbridge location assign ve9EPM428h8vShlRW1KT "Front office"
  footbridge location delete ve9EPM428h8vShlRW1K --yes`;

/** `footbridge location`: locations, their licenses and their connected Macs. */
export function locationCommand(program: Command): void {
  const location = program.command('location').addHelpText('after', EXAMPLES);

  location
    .command('list')
    .description('list all locations')
    .action(async (_options: object, command: Command) => {
      const { output, operator } = contextOf(command);
      const locations = await allLocations(operator());
      output.rows(
        locations,
        [
          { title: 'LOCATION', value: ({ locationId }) => locationId },
          { title: 'NAME', value: ({ name }) => name ?? '–' },
          { title: 'STATE', value: ({ state, claimed }) => (claimed ? 'claimed, not assigned' : state) },
          { title: 'LICENSE', value: ({ license }) => license ?? '–' },
          { title: 'MAC', value: ({ connected }) => connected?.name ?? 'not connected' },
          {
            title: 'SINCE',
            value: ({ connected }) => (connected === null ? '' : localTime(connected.since)),
          },
          { title: 'OAUTH', value: ({ oauth }) => oauth?.state ?? '–' },
        ],
        'There are no locations. One appears when a Mac registers for it or the CRM app is installed in it.',
      );
    });

  location
    .command('show <location>')
    .description('show a location and the state of its Mac: permissions, queue, last messages')
    .action(async (locationId: string, _options: object, command: Command) => {
      const { output, operator } = contextOf(command);
      const { locations } = await operator().ask(listLocations, { locationId });
      const found = locations.find((entry) => entry.locationId === locationId);
      if (found === undefined)
        throw new CliError(`no location ${locationId}`, {
          exitCode: EXIT.notFound,
          next: 'run footbridge location list to see them all',
        });
      output.result(describeLocation(found), { ...found });
    });

  location
    .command('rename <location> [name]')
    .description('give a location a name, which is shown beside its id')
    .option('--remove', 'remove its name')
    .action(
      async (
        locationId: string,
        name: string | undefined,
        { remove }: { remove?: true },
        command: Command,
      ) => {
        const { output, operator } = contextOf(command);
        if ((name === undefined) !== (remove === true)) throw usageError('give either a name or --remove');
        if (name === undefined) {
          await operator().ask(unnameLocation, { locationId });
          output.result(`${printable(locationId)} no longer has a name.`, { locationId, name: null });
          return;
        }
        const changed = await operator().ask(nameLocation, { locationId, name });
        output.result(`${printable(locationId)} is named “${printable(changed.name)}”.`, { ...changed });
      },
    );

  location
    .command('assign <location> <license>')
    .description('assign a location to a license; by id, label or last group of the key')
    .action(async (locationId: string, wanted: string, _options: object, command: Command) => {
      const { output, operator } = contextOf(command);
      const client = operator();
      const { id: licenseId } = await findLicense(client, wanted);
      const changed = await client.ask(assignLocation, { locationId, licenseId });
      output.result(`${printable(locationId)} belongs to ${printable(changed.license ?? '')}.`, {
        ...changed,
      });
    });

  location
    .command('release <location>')
    .description('remove a location from its license; its Mac is disconnected and does not reconnect')
    .action(async (locationId: string, _options: object, command: Command) => {
      const { output, operator, confirm } = contextOf(command);
      const client = operator();
      await confirm(
        `Release ${printable(locationId)}? Its Mac will be disconnected, and another license can claim it.`,
      );
      const changed = await client.ask(assignLocation, { locationId, licenseId: null });
      output.result(`${printable(locationId)} is released.`, { ...changed });
    });

  location
    .command('delete <location>')
    .description('delete a location that no license owns, for example a mistyped one')
    .option(
      '--in-use',
      'also one that has a license or tokens: its Mac is disconnected, its tokens are deleted',
    )
    .action(async (locationId: string, { inUse }: { inUse?: true }, command: Command) => {
      const { output, operator, confirm } = contextOf(command);
      const client = operator();
      const question = `Delete ${printable(locationId)}?`;
      await confirm(
        inUse ? `${question} Its Mac will be disconnected, and its tokens will be deleted.` : question,
      );
      await client.ask(deleteLocation, { locationId, ...(inUse && { confirmed: 'true' as const }) });
      output.result(`${printable(locationId)} is deleted.`, { locationId, deleted: true });
    });

  location
    .command('disconnect <location>')
    .description('disconnect the Mac of a location; it reconnects after a minute')
    .action(async (locationId: string, _options: object, command: Command) => {
      const { output, operator } = contextOf(command);
      const result = await operator().ask(disconnectLocation, { locationId });
      output.result(
        result.wasConnected
          ? `The Mac of ${printable(locationId)} was disconnected.`
          : `No Mac was connected to ${printable(locationId)}.`,
        { ...result },
      );
    });
}

export const allLocations = (client: OperatorClient): Promise<readonly Location[]> =>
  everyPage(
    (page) => client.ask(listLocations, page),
    ({ locations }) => locations,
  );
