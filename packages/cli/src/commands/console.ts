import type { Command } from 'commander';

import { contextOf } from '../command-context.ts';

/** `footbridge console`: prints a link that signs a browser in to the console. */
export function consoleCommand(program: Command): void {
  program.command('console').action(async (_options: object, command: Command) => {
    const { output, operator } = contextOf(command);
    const client = operator();
    const { code, expiresAt } = await client.call<{ code: string; expiresAt: string }>(
      'POST',
      '/operator/session/codes',
    );
    const url = `${client.url}/console#code=${code}`;
    output.result(url, { url, expiresAt });
  });
}
