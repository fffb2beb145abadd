import { createToken, listTokens, removeToken } from '@footbridge/protocol/operator/access';
import type { ResponseOf } from '@footbridge/protocol/operator/call';
import { everyPage } from '@footbridge/protocol/operator/every-page';
import { printable } from '@footbridge/runtime/printable';
import type { Command } from 'commander';

import { EXIT, CliError } from '../cli-error.ts';
import { contextOf } from '../command-context.ts';
import type { OperatorClient } from '../operator-client.ts';
import { collect } from '../option-values.ts';

const EXAMPLES = `
Examples:
  footbridge token create "Dental agency" --read-only --location LOC1 --location LOC2
  footbridge token remove "Dental agency"`;

/** `footbridge token`: operator tokens for others, read-only or for some locations. */
export function tokenCommand(program: Command): void {
  const token = program.command('token').addHelpText('after', EXAMPLES);

  token
    .command('create <label>')
    .description('create a token; it is shown only once')
    .option('--read-only', 'the token cannot change anything', false)
    .option('--location <id>', 'the token sees only this location; repeat for several', collect)
    .action(async (label: string, options: CreateOptions, command: Command) => {
      const { output, operator } = contextOf(command);
      const { readOnly, location: locations = null } = options;
      const created = await operator().ask(createToken, { label, readOnly, locations });
      output.result(
        `${created.token}\n\n${printable(created.label)}: ${scopeOf(created)}. Save the token now: it will not be shown again.`,
        { ...created },
      );
    });

  token
    .command('list')
    .description('list the tokens for others')
    .action(async (_options: object, command: Command) => {
      const { output, operator } = contextOf(command);
      const tokens = await allTokens(operator());
      output.rows(
        tokens.map((entry) => ({ ...entry, scope: scopeOf(entry) })),
        [
          { title: 'ID', value: ({ id }) => id },
          { title: 'LABEL', value: ({ label }) => label },
          { title: 'SCOPE', value: ({ scope }) => scope },
          { title: 'CREATED', value: ({ createdAt }) => createdAt.slice(0, 10) },
        ],
        'There are no tokens for others. Create one with `footbridge token create LABEL --read-only`.',
      );
    });

  token
    .command('remove <token>')
    .description('remove a token and end its sessions; by id or label')
    .action(async (wanted: string, _options: object, command: Command) => {
      const { output, operator, confirm } = contextOf(command);
      const client = operator();
      const tokens = await allTokens(client);
      const matches = tokens.filter(({ id, label }) => id === wanted || label === wanted);
      const [only] = matches;
      if (only === undefined || matches.length > 1)
        throw new CliError(
          only === undefined ? `no token matches ${wanted}` : `${matches.length} tokens match ${wanted}`,
          { exitCode: EXIT.notFound, next: 'run footbridge token list to see their ids' },
        );
      await confirm(`Remove the token ${printable(only.label)}? Its users are signed out.`);
      await client.ask(removeToken, { id: only.id });
      output.result(`${printable(only.label)} is removed.`, { id: only.id });
    });
}

type Token = ResponseOf<typeof listTokens>['tokens'][number];

const allTokens = (client: OperatorClient): Promise<readonly Token[]> =>
  everyPage(
    (page) => client.ask(listTokens, page),
    ({ tokens }) => tokens,
  );

interface CreateOptions {
  readonly readOnly: boolean;
  readonly location?: readonly string[];
}

const scopeOf = ({ readOnly, locations }: Token): string =>
  `${readOnly ? 'read-only' : 'may change things'}, ${
    locations === null ? 'all locations' : locations.map(printable).join(', ')
  }`;
