import { once } from 'node:events';
import type { Server } from 'node:http';

import { showDiagnosis } from '@footbridge/protocol/operator/watching';
import { errorCode } from '@footbridge/runtime/error-code';
import type { Command } from 'commander';

import { CliError, usageError } from '../cli-error.ts';
import { contextOf } from '../command-context.ts';
import { createForwardServer } from '../forward-server.ts';
import { withCleanup } from '../io.ts';
import type { OperatorClient } from '../operator-client.ts';
import { httpUrl, wholeNumber } from '../option-values.ts';

interface Options {
  readonly forward: string;
  readonly port: number;
}

const EXAMPLES = `
Examples:
  footbridge listen --forward http://localhost:3000
  footbridge listen --forward http://localhost:3000/crm --port 4700`;

/** `footbridge listen --forward URL`: takes the place of the CRM and forwards the calls of the service to a local program. */
export function listenCommand(program: Command): void {
  program
    .command('listen')
    .requiredOption(
      '--forward <url>',
      'address of the program that receives the calls; its responses are returned',
      httpUrl,
    )
    .option(
      '--port <port>',
      'port to listen on at 127.0.0.1; 0 picks a free port',
      wholeNumber(0, 65_535),
      4620,
    )
    .addHelpText('after', EXAMPLES)
    .action(async ({ forward, port }: Options, command: Command) => {
      const { io, output, operator } = contextOf(command);
      const client = operator();
      const { settings } = await client.ask(showDiagnosis);
      const server = createForwardServer(forward, ({ method, path, status, ms }) =>
        output.result(`${method} ${path} → ${status}  ${ms} ms`, { method, path, status, ms }),
      );
      const url = await open(server, port);
      const close = async () => {
        server.close();
        server.closeAllConnections();
      };
      await withCleanup(io, close, async () => {
        output.result(`Calls to ${url} are forwarded to ${forward}. Stop with Ctrl-C.`, { url, forward });
        if (settings.crmHost !== url)
          output.hint(`The service at ${client.url} calls ${settings.crmHost}. ${adviceOf(client, url)}`);
        await once(server, 'close');
      });
    });
}

const adviceOf = ({ url }: OperatorClient, here: string): string =>
  /\/\/(127\.|localhost|\[::1\])/.test(url)
    ? `To send its calls here, set CRM_HOSTNAME=${here} in .env and restart it.`
    : 'It is on another machine, which cannot reach this address: run a service on this machine.';

async function open(server: Server, port: number): Promise<string> {
  server.listen(port, '127.0.0.1');
  try {
    await once(server, 'listening');
  } catch (error) {
    if (errorCode(error) === 'EADDRINUSE')
      throw usageError(`port ${port} is in use; pass another one with --port`, error);
    throw new CliError(`cannot listen on port ${port}`, { cause: error });
  }
  const address = server.address();
  const used = typeof address === 'object' && address !== null ? address.port : port;
  return `http://127.0.0.1:${used}`;
}
