import { createPublicKey } from 'node:crypto';
import { readFileSync } from 'node:fs';

import type { Command } from 'commander';

import { diagnoseSignature } from '../diagnose-signature.ts';
import type { CandidateKey, Diagnosis } from '../diagnose-signature.ts';
import { EXIT, Failure } from '../failure.ts';
import type { OperatorClient } from '../operator-client.ts';
import { printable } from '../output.ts';
import { toolsOf } from '../tools.ts';

interface Key {
  readonly id: string;
  readonly label: string;
  readonly scheme: string;
  readonly header: string;
  readonly fingerprint: string;
  readonly publicKey: string;
  readonly locations: readonly string[] | null;
  readonly enabled: boolean;
  readonly source: 'operator' | 'settings';
}

const EXAMPLES = `
Examples:
  footbridge keys add --preset highlevel
  footbridge keys add --label Acme --header X-Acme-Signature --file acme.pem
  footbridge keys test --body request.json --signature "$SIG" --key-file acme.pem`;

/** `footbridge keys`: the allowlist of CRM keys. */
export function keysCommand(program: Command): void {
  const keys = program
    .command('keys')
    .description('the CRM keys that webhooks are verified with')
    .addHelpText('after', EXAMPLES);

  keys
    .command('add')
    .description('trust a public key')
    .option('--preset <name>', 'a published key: highlevel, or highlevel-legacy (RSA)')
    .option('--file <pem>', 'the public key, PEM; - reads it from standard input')
    .option('--label <text>', 'what you call it')
    .option('--scheme <scheme>', 'Ed25519 or RSA-SHA256', 'Ed25519')
    .option(
      '--header <name>',
      'the header its signatures arrive in (default: X-CRM-Signature, or X-WH-Signature for RSA)',
    )
    .option('--location <id...>', 'the only locations it may speak for')
    .action(async (options: AddOptions, command: Command) => {
      const { output, operator } = toolsOf(command);
      const key = await operator().call<Key>('POST', '/operator/keys', offered(options));
      output.result(
        `Added ${key.label}: ${key.scheme} under ${key.header}, fingerprint ${short(key)}, id ${key.id}`,
        { ...key },
      );
      output.hint(
        'Next: footbridge keys test --body FILE --signature SIG   checks a request that the CRM signed',
      );
    });

  keys
    .command('list')
    .description('show all keys')
    .action(async (_options: object, command: Command) => {
      const { output, operator } = toolsOf(command);
      output.rows(
        (await list(operator())).map((key) => ({ ...key })),
        [
          { title: 'ID', value: (row) => String(row['id']).slice(0, 8) },
          { title: 'LABEL', value: (row) => String(row['label']) },
          { title: 'SCHEME', value: (row) => String(row['scheme']) },
          { title: 'HEADER', value: (row) => String(row['header']) },
          { title: 'FINGERPRINT', value: (row) => `${String(row['fingerprint']).slice(0, 16)}…` },
          {
            title: 'LOCATIONS',
            value: (row) => (Array.isArray(row['locations']) ? String(row['locations'].length) : 'all'),
          },
          { title: 'STATE', value: (row) => (row['enabled'] === true ? 'enabled' : 'disabled') },
          { title: 'FROM', value: (row) => String(row['source']) },
        ],
        'No key is trusted: every webhook gets 401. Add one with `footbridge keys add`.',
      );
    });

  for (const [name, enabled] of [
    ['disable', false],
    ['enable', true],
  ] as const)
    keys
      .command(`${name} <key>`)
      .description(`${name} a key, by its id, label or fingerprint`)
      .action(async (wanted: string, _options: object, command: Command) => {
        const { output, operator } = toolsOf(command);
        const client = operator();
        const { id } = await find(client, wanted);
        const key = await client.call<Key>('PATCH', `/operator/keys/${id}`, { enabled });
        output.result(`${key.label} is ${enabled ? 'enabled' : 'disabled'}.`, { ...key });
      });

  keys
    .command('remove <key>')
    .description('forget a key, by its id, label or fingerprint')
    .action(async (wanted: string, _options: object, command: Command) => {
      const { output, operator, confirm } = toolsOf(command);
      const client = operator();
      const key = await find(client, wanted);
      await confirm(`Remove ${printable(key.label)} (${short(key)})? Webhooks signed with it will get 401.`);
      await client.call('DELETE', `/operator/keys/${key.id}`);
      output.result(`Removed ${key.label}.`, { id: key.id, removed: true });
    });

  keys
    .command('test')
    .description('say whether a signature is good, and if not, which step fails')
    .requiredOption('--body <file>', 'the raw body, byte for byte; - reads it from standard input')
    .requiredOption('--signature <base64>', 'the value of the signature header')
    .option('--key-file <pem...>', 'public keys to try, without asking a service')
    .action(async (options: TestOptions, command: Command) => {
      const { output, operator } = toolsOf(command);
      const candidates =
        options.keyFile === undefined ? await list(operator()) : options.keyFile.map(keyOfFile);
      const diagnosis = diagnoseSignature(readBytes(options.body), options.signature, candidates);
      output.result(explained(diagnosis), { ...diagnosis });
      if (!diagnosis.ok) process.exitCode = EXIT.notAuthorised;
    });
}

interface AddOptions {
  preset?: string;
  file?: string;
  label?: string;
  scheme: string;
  header?: string;
  location?: string[];
}

interface TestOptions {
  body: string;
  signature: string;
  keyFile?: string[];
}

function offered({ preset, file, label, scheme, header, location: locations }: AddOptions): object {
  if (preset !== undefined) return { preset, label, locations };
  if (file === undefined || label === undefined)
    throw new Failure('a key needs --file and --label, or --preset', {
      exitCode: EXIT.usage,
      next: 'footbridge keys add --help',
    });
  return {
    label,
    scheme,
    header: header ?? (scheme === 'RSA-SHA256' ? 'X-WH-Signature' : 'X-CRM-Signature'),
    publicKey: readBytes(file).toString('utf8'),
    locations,
  };
}

const list = async (client: OperatorClient): Promise<readonly Key[]> =>
  (await client.call<{ keys: Key[] }>('GET', '/operator/keys')).keys;

/** By whole label, or by the beginning of id or fingerprint, as long as only one key fits. */
async function find(client: OperatorClient, wanted: string): Promise<Key> {
  const fitting = (await list(client)).filter(
    ({ id, label, fingerprint }) =>
      label === wanted || id.startsWith(wanted) || fingerprint.startsWith(wanted),
  );
  const [key] = fitting;
  if (key !== undefined && fitting.length === 1) return key;
  throw new Failure(
    key === undefined ? `there is no key ${wanted}` : `${fitting.length} keys are called ${wanted}`,
    {
      exitCode: key === undefined ? EXIT.notFound : EXIT.usage,
      next: 'footbridge keys list',
    },
  );
}

function keyOfFile(file: string): CandidateKey {
  const publicKey = readBytes(file).toString('utf8');
  if (publicKey.includes('PRIVATE KEY'))
    throw new Failure(`${file} holds a private key; the public one is enough`, { exitCode: EXIT.usage });
  return { label: file, scheme: schemeOf(publicKey, file), publicKey };
}

function schemeOf(publicKey: string, file: string): string {
  try {
    return createPublicKey(publicKey).asymmetricKeyType === 'ed25519' ? 'Ed25519' : 'RSA-SHA256';
  } catch (error) {
    throw new Failure(`${file} is not a public key in PEM form`, { exitCode: EXIT.usage, cause: error });
  }
}

function readBytes(file: string): Buffer {
  try {
    return readFileSync(file === '-' ? 0 : file);
  } catch (error) {
    throw new Failure(`${file} cannot be read`, { exitCode: EXIT.usage, cause: error });
  }
}

function explained(diagnosis: Diagnosis): string {
  const { ok, reason, step, hint, key, signatureBytes, bodyBytes, bodySha256 } = diagnosis;
  const lines = [
    ['step', ok ? 'all passed' : step],
    ['signature', signatureBytes === undefined ? undefined : `base64, ${signatureBytes} bytes`],
    ['key', key],
    ['body', `${bodyBytes} bytes, sha256 ${bodySha256.slice(0, 16)}…`],
    ['hint', hint],
  ].flatMap(([name = '', value]) =>
    value === undefined ? [] : [`  ${name.padEnd(10)} ${printable(value)}`],
  );
  return [`${ok ? '✔' : '✖'} ${reason}`, ...lines].join('\n');
}

const short = ({ fingerprint }: Pick<Key, 'fingerprint'>): string => `${fingerprint.slice(0, 16)}…`;
