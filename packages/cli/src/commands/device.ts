import type { Command } from 'commander';

import { EXIT, Failure } from '../failure.ts';
import type { OperatorClient } from '../operator-client.ts';
import { printable } from '../output.ts';
import { toolsOf } from '../tools.ts';

interface Device {
  readonly id: string;
  readonly deviceId: string;
  readonly license: string;
  readonly name: string;
  readonly osVersion: string;
  readonly appVersion: string;
  readonly status: 'active' | 'deactivated' | 'revoked';
  readonly connected: boolean;
  readonly locations: readonly string[];
  readonly lastSeenAt: string;
}

const EXAMPLES = `
Examples:
  footbridge device list
  footbridge device revoke mac-4f2a19`;

/** `footbridge device`: the Macs that hold seats. */
export function deviceCommand(program: Command): void {
  const device = program
    .command('device')
    .description('Macs that were activated')
    .addHelpText('after', EXAMPLES);

  device
    .command('list')
    .description('show all Macs, which are connected and when they were last seen')
    .action(async (_options: object, command: Command) => {
      const { output, operator } = toolsOf(command);
      output.rows(
        (await list(operator())).map((one) => ({ ...one })),
        [
          { title: 'ID', value: (row) => String(row['id']) },
          { title: 'DEVICE', value: (row) => String(row['deviceId']) },
          { title: 'NAME', value: (row) => String(row['name']) },
          { title: 'LICENSE', value: (row) => String(row['license']) },
          { title: 'MACOS', value: (row) => String(row['osVersion']) },
          { title: 'AGENT', value: (row) => String(row['appVersion']) },
          { title: 'STATE', value: (row) => String(row['status']) },
          {
            title: 'CONNECTED TO',
            value: (row) => (Array.isArray(row['locations']) ? row['locations'].join(' ') : ''),
          },
          { title: 'LAST SEEN', value: (row) => String(row['lastSeenAt']).slice(0, 19).replace('T', ' ') },
        ],
        'No Mac was activated yet. Make a license with `footbridge license create` and start the agent with its key.',
      );
    });

  device
    .command('revoke <device>')
    .description('send a Mac away, free its seat and let it not activate again; by id, device id or name')
    .action(async (wanted: string, _options: object, command: Command) => {
      const { output, operator, confirm } = toolsOf(command);
      const client = operator();
      const found = await find(client, wanted);
      await confirm(
        `Revoke ${printable(found.name)} (${found.deviceId})? It cannot send or receive any more.`,
      );
      const changed = await client.call<Device>('POST', `/operator/devices/${found.id}/revoke`);
      output.result(`${printable(changed.name)} is revoked; its seat is free.`, { ...changed });
      output.hint(`footbridge device restore ${found.id}   lets it activate again`);
    });

  device
    .command('restore <device>')
    .description('let a revoked Mac activate again; by id, device id or name')
    .action(async (wanted: string, _options: object, command: Command) => {
      const { output, operator } = toolsOf(command);
      const client = operator();
      const { id } = await find(client, wanted);
      const changed = await client.call<Device>('POST', `/operator/devices/${id}/restore`);
      output.result(`${printable(changed.name)} may activate again.`, { ...changed });
    });
}

async function list(client: OperatorClient): Promise<readonly Device[]> {
  return (await client.call<{ devices: Device[] }>('GET', '/operator/devices')).devices;
}

async function find(client: OperatorClient, wanted: string): Promise<Device> {
  const all = await list(client);
  const exact = all.find(({ id }) => id === wanted);
  if (exact !== undefined) return exact;
  const fitting = all.filter(({ deviceId, name }) => deviceId === wanted || name === wanted);
  const [only] = fitting;
  if (only !== undefined && fitting.length === 1) return only;
  throw new Failure(
    only === undefined ? `no device is ${wanted}` : `${fitting.length} devices are called ${wanted}`,
    { exitCode: EXIT.notFound, next: 'footbridge device list shows them with their ids' },
  );
}
