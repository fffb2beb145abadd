import {
  createPairingCode,
  listDevices,
  restoreDevice,
  revokeDevice,
} from '@footbridge/protocol/operator/accounts';
import type { ResponseOf } from '@footbridge/protocol/operator/call';
import { everyPage } from '@footbridge/protocol/operator/every-page';
import { printable } from '@footbridge/runtime/printable';
import type { Command } from 'commander';

import { EXIT, CliError } from '../cli-error.ts';
import { localTime } from '../format-time.ts';
import type { OperatorClient } from '../operator-client.ts';
import { contextOf } from '../command-context.ts';

type Device = ResponseOf<typeof listDevices>['devices'][number];

const EXAMPLES = `
Examples:
  footbridge device pair ve9EPM428h8vShlRW1KT
  footbridge device list
  footbridge device revoke mac-4f2a19`;

/** `footbridge device`: the activated Macs. */
export function deviceCommand(program: Command): void {
  const device = program.command('device').addHelpText('after', EXAMPLES);

  device
    .command('list')
    .description('list all Macs with their connections and when they were last seen')
    .action(async (_options: object, command: Command) => {
      const { output, operator } = contextOf(command);
      output.rows(
        await list(operator()),
        [
          { title: 'ID', value: ({ id }) => id },
          { title: 'DEVICE', value: ({ deviceId }) => deviceId },
          { title: 'NAME', value: ({ name }) => name },
          { title: 'LICENSE', value: ({ license }) => license },
          { title: 'MACOS', value: ({ osVersion }) => osVersion },
          { title: 'AGENT', value: ({ appVersion }) => appVersion },
          { title: 'STATE', value: ({ status }) => status },
          { title: 'CONNECTED TO', value: ({ locations }) => locations.join(' ') },
          { title: 'LAST SEEN', value: ({ lastSeenAt }) => localTime(lastSeenAt) },
        ],
        'No Macs are activated. Create a license with `footbridge license create`, assign it to a location and run `footbridge device pair LOCATION`.',
      );
    });

  device
    .command('pair <location>')
    .description('print a code that pairs one Mac with a location; valid once, for 15 minutes')
    .action(async (locationId: string, _options: object, command: Command) => {
      const { output, operator } = contextOf(command);
      const created = await operator().ask(createPairingCode, { locationId });
      output.result(created.code, { ...created });
      output.hint(
        `For ${printable(locationId)}, with a seat of ${printable(created.license)}. Valid for 15 minutes, for one Mac. Its owner runs npx footbridge-agent@latest setup and enters the code.`,
      );
    });

  device
    .command('revoke <device>')
    .description(
      'disconnect a Mac, free its seat and block it from activating again; by id, device id or name',
    )
    .action(async (wanted: string, _options: object, command: Command) => {
      const { output, operator, confirm } = contextOf(command);
      const client = operator();
      const found = await find(client, wanted);
      await confirm(
        `Revoke ${printable(found.name)} (${found.deviceId})? It will no longer send or receive messages.`,
      );
      const changed = await client.ask(revokeDevice, { id: found.id });
      output.result(`${printable(changed.name)} is revoked; its seat is free.`, { ...changed });
      output.hint(`To let it activate again: footbridge device restore ${found.id}`);
    });

  device
    .command('restore <device>')
    .description('let a revoked Mac activate again; by id, device id or name')
    .action(async (wanted: string, _options: object, command: Command) => {
      const { output, operator } = contextOf(command);
      const client = operator();
      const { id } = await find(client, wanted);
      const changed = await client.ask(restoreDevice, { id });
      output.result(`${printable(changed.name)} can activate again.`, { ...changed });
    });
}

const list = (client: OperatorClient): Promise<readonly Device[]> =>
  everyPage(
    (page) => client.ask(listDevices, page),
    ({ devices }) => devices,
  );

async function find(client: OperatorClient, wanted: string): Promise<Device> {
  const all = await list(client);
  const exact = all.find(({ id }) => id === wanted);
  if (exact !== undefined) return exact;
  const matches = all.filter(({ deviceId, name }) => deviceId === wanted || name === wanted);
  const [only] = matches;
  if (only !== undefined && matches.length === 1) return only;
  throw new CliError(
    only === undefined ? `no device matches ${wanted}` : `${matches.length} devices match ${wanted}`,
    { exitCode: EXIT.notFound, next: 'run footbridge device list to see their ids' },
  );
}
