import type { BodyOf } from '@footbridge/protocol/operator/call';
import { addKey, changeKey, listRejections, removeKey } from '@footbridge/protocol/operator/crm';
import { SIGNATURE_STEPS } from '@footbridge/protocol/signature-steps';
import { printable } from '@footbridge/runtime/printable';
import type { Command } from 'commander';

import { EXIT, CliError, usageError } from '../cli-error.ts';
import { localTime } from '../format-time.ts';
import type { OperatorClient } from '../operator-client.ts';
import { readBytes } from '../read-bytes.ts';
import { contextOf } from '../command-context.ts';
import { listKeys } from '../trusted-keys.ts';
import type { Key } from '../trusted-keys.ts';
import { addVerification } from './verify.ts';

const EXAMPLES = `
Examples:
  footbridge keys add --preset highlevel
  footbridge keys add --label Acme --header X-Acme-Signature --file acme.pem
  footbridge keys test --body request.json --signature "$SIG" --key-file acme.pem`;

/** `footbridge keys`: the CRM public keys that may sign webhooks. */
export function keysCommand(program: Command): void {
  const keys = program.command('keys').addHelpText('after', EXAMPLES);

  keys
    .command('add')
    .description('add a public key')
    .option('--preset <name>', 'a published key: highlevel, or highlevel-legacy (RSA)')
    .option('--file <pem>', 'public key in PEM format; - reads from standard input')
    .option('--label <text>', 'a name for the key')
    .option('--scheme <scheme>', 'Ed25519 or RSA-SHA256', 'Ed25519')
    .option(
      '--header <name>',
      'the header that contains its signatures (default: X-CRM-Signature, or X-WH-Signature for RSA)',
    )
    .option('--location <id...>', 'accept the key only for these locations')
    .action(async (options: AddOptions, command: Command) => {
      const { output, operator } = contextOf(command);
      const key = await operator().ask(addKey, requestBody(options));
      output.result(
        `Added ${key.label}: ${key.scheme} in header ${key.header}, fingerprint ${short(key)}, id ${key.id}`,
        { ...key },
      );
      output.hint('To check a request signed by the CRM: footbridge keys test --body FILE --signature SIG');
    });

  keys
    .command('list')
    .description('list all keys')
    .action(async (_options: object, command: Command) => {
      const { output, operator } = contextOf(command);
      output.rows(
        await listKeys(operator()),
        [
          { title: 'ID', value: ({ id }) => id.slice(0, 8) },
          { title: 'LABEL', value: ({ label }) => label },
          { title: 'SCHEME', value: ({ scheme }) => scheme },
          { title: 'HEADER', value: ({ header }) => header },
          { title: 'FINGERPRINT', value: ({ fingerprint }) => `${fingerprint.slice(0, 16)}…` },
          {
            title: 'LOCATIONS',
            value: ({ locations }) => (locations === null ? 'all' : String(locations.length)),
          },
          { title: 'STATE', value: ({ enabled }) => (enabled ? 'enabled' : 'disabled') },
          { title: 'SOURCE', value: ({ source }) => source },
        ],
        'There are no keys, so every webhook gets 401. Add one with `footbridge keys add`.',
      );
    });

  for (const [name, enabled] of [
    ['disable', false],
    ['enable', true],
  ] as const)
    keys
      .command(`${name} <key>`)
      .description(`${name} a key; by id, label or fingerprint`)
      .action(async (wanted: string, _options: object, command: Command) => {
        const { output, operator } = contextOf(command);
        const client = operator();
        const { id } = await find(client, wanted);
        const key = await client.ask(changeKey, { id, enabled });
        output.result(`${key.label} is ${enabled ? 'enabled' : 'disabled'}.`, { ...key });
      });

  keys
    .command('remove <key>')
    .description('remove a key; by id, label or fingerprint')
    .action(async (wanted: string, _options: object, command: Command) => {
      const { output, operator, confirm } = contextOf(command);
      const client = operator();
      const key = await find(client, wanted);
      await confirm(`Remove ${printable(key.label)} (${short(key)})? Webhooks signed with it will get 401.`);
      await client.ask(removeKey, { id: key.id });
      output.result(`Removed ${key.label}.`, { id: key.id, removed: true });
    });

  keys
    .command('rejections')
    .description('show why webhooks got 401 within the last hour, by failing step')
    .action(async (_options: object, command: Command) => {
      const { output, operator } = contextOf(command);
      const { rejections } = await operator().ask(listRejections);
      output.rows(
        rejections.map(({ header, ...row }) => ({
          ...row,
          header: header ?? '-',
          ...SIGNATURE_STEPS[row.step],
        })),
        [
          { title: 'COUNT', value: ({ count }) => String(count) },
          { title: 'LAST', value: ({ lastAt }) => localTime(lastAt) },
          { title: 'HEADER', value: ({ header }) => header },
          { title: 'STEP', value: ({ step }) => step },
          { title: 'MEANING', value: ({ meaning }) => meaning },
        ],
        'The node that responded has rejected no signatures within the last hour.',
      );
    });

  addVerification(
    keys
      .command('test')
      .description('verify a signature and, if it is invalid, show which step fails; also footbridge verify'),
  );
}

interface AddOptions {
  preset?: string;
  file?: string;
  label?: string;
  scheme: string;
  header?: string;
  location?: string[];
}

function requestBody({ preset, file, label, scheme, header, location }: AddOptions): BodyOf<typeof addKey> {
  const limited = location === undefined ? {} : { locations: location };
  if (preset !== undefined) {
    if (!isPreset(preset))
      throw usageError(`there is no preset ${preset}; the presets are ${PRESETS.join(', ')}`);
    return { preset, ...(label !== undefined && { label }), ...limited };
  }
  if (file === undefined || label === undefined)
    throw new CliError('either --preset, or both --file and --label are required', {
      exitCode: EXIT.usage,
      next: 'run footbridge keys add --help',
    });
  return {
    label,
    scheme,
    header: header ?? (scheme === 'RSA-SHA256' ? 'X-WH-Signature' : 'X-CRM-Signature'),
    publicKey: readBytes(file).toString('utf8'),
    ...limited,
  };
}

const PRESETS = ['highlevel', 'highlevel-legacy'] as const;
const isPreset = (name: string): name is (typeof PRESETS)[number] =>
  (PRESETS as readonly string[]).includes(name);

/** Finds a key by its label or by a prefix of its id or fingerprint. Throws unless exactly one key matches. */
async function find(client: OperatorClient, wanted: string): Promise<Key> {
  const matches = (await listKeys(client)).filter(
    ({ id, label, fingerprint }) =>
      label === wanted || id.startsWith(wanted) || fingerprint.startsWith(wanted),
  );
  const [key] = matches;
  if (key !== undefined && matches.length === 1) return key;
  throw new CliError(
    key === undefined ? `no key matches ${wanted}` : `${matches.length} keys match ${wanted}`,
    {
      exitCode: key === undefined ? EXIT.notFound : EXIT.usage,
      next: 'run footbridge keys list to see them',
    },
  );
}

const short = ({ fingerprint }: Pick<Key, 'fingerprint'>): string => `${fingerprint.slice(0, 16)}…`;
