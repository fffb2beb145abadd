import type { Command } from 'commander';

import { printable } from '../output.ts';
import type { Row } from '../output.ts';
import { toolsOf } from '../tools.ts';
import { findLicense } from './license.ts';

interface Location {
  readonly locationId: string;
  readonly state: 'unassigned' | 'bound' | 'released';
  readonly license: string | null;
  readonly connected: { readonly name: string; readonly since: string } | null;
  readonly oauth: { readonly state: string } | null;
}

const EXAMPLES = `
Examples:
  footbridge location list
  footbridge location assign ve9EPM428h8vShlRW1KT "Front office"`;

/** `footbridge location`: which license owns a location, and which Mac holds it. */
export function locationCommand(program: Command): void {
  const location = program
    .command('location')
    .description('locations, their licenses and who is connected')
    .addHelpText('after', EXAMPLES);

  location
    .command('list')
    .description('show all locations')
    .action(async (_options: object, command: Command) => {
      const { output, operator } = toolsOf(command);
      const { locations } = await operator().call<{ locations: Location[] }>('GET', '/operator/locations');
      output.rows(
        locations.map((one) => ({ ...one })),
        [
          { title: 'LOCATION', value: (row) => String(row['locationId']) },
          { title: 'STATE', value: (row) => String(row['state']) },
          { title: 'LICENSE', value: ({ license }) => (typeof license === 'string' ? license : '–') },
          { title: 'MAC', value: (row) => inner(row, 'connected', 'name') ?? 'not connected' },
          {
            title: 'SINCE',
            value: (row) => inner(row, 'connected', 'since')?.slice(0, 19).replace('T', ' ') ?? '',
          },
          { title: 'OAUTH', value: (row) => inner(row, 'oauth', 'state') ?? '–' },
        ],
        'No location is known yet: one appears when a Mac registers for it or the CRM app is installed there.',
      );
    });

  location
    .command('assign <location> <license>')
    .description('give a location to a license, by id, label or end of its key')
    .action(async (locationId: string, wanted: string, _options: object, command: Command) => {
      const { output, operator } = toolsOf(command);
      const client = operator();
      const { id: licenseId } = await findLicense(client, wanted);
      const changed = await client.call<Location>('PUT', pathOf(locationId), { licenseId });
      output.result(`${printable(locationId)} belongs to ${printable(changed.license ?? '')}.`, {
        ...changed,
      });
    });

  location
    .command('release <location>')
    .description('take a location from its license; its Mac is sent away and stays away')
    .action(async (locationId: string, _options: object, command: Command) => {
      const { output, operator, confirm } = toolsOf(command);
      await confirm(
        `Release ${printable(locationId)}? Its Mac is sent away, and another license may take it.`,
      );
      const changed = await operator().call<Location>('PUT', pathOf(locationId), { licenseId: null });
      output.result(`${printable(locationId)} is released.`, { ...changed });
    });

  location
    .command('disconnect <location>')
    .description('send the Mac of a location away; it comes back after a minute')
    .action(async (locationId: string, _options: object, command: Command) => {
      const { output, operator } = toolsOf(command);
      const done = await operator().call<{ wasConnected: boolean }>(
        'POST',
        `${pathOf(locationId)}/disconnect`,
      );
      output.result(
        done.wasConnected
          ? `The Mac of ${printable(locationId)} was sent away.`
          : `No Mac was connected to ${printable(locationId)}.`,
        { locationId, ...done },
      );
    });
}

const pathOf = (locationId: string) => `/operator/locations/${encodeURIComponent(locationId)}`;

function inner(row: Row, outer: string, name: string): string | undefined {
  const value = row[outer];
  if (typeof value !== 'object' || value === null) return undefined;
  const found: unknown = Reflect.get(value, name);
  return typeof found === 'string' ? found : undefined;
}
