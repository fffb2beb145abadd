import { generateKeyPairSync, randomUUID } from 'node:crypto';
import { text as readAll } from 'node:stream/consumers';

import { BridgeClient, sendMessage } from '@footbridge/kit/send-message';
import type { SendFailure, SendResult } from '@footbridge/kit/send-message';
import { addKey, removeKey, showCrmApp } from '@footbridge/protocol/operator/crm';
import type { Command } from 'commander';

import { CliError, EXIT, ExitError, usageError } from '../cli-error.ts';
import { contextOf } from '../command-context.ts';
import { followMessage } from '../follow-message.ts';
import { withCleanup } from '../io.ts';
import type { OperatorClient } from '../operator-client.ts';
import { httpUrl, phoneNumber, seconds } from '../option-values.ts';

interface Options {
  readonly to: string;
  readonly location: string;
  readonly contact: string;
  readonly wait?: number | true;
  readonly webhook?: string;
}

const EXAMPLES = `
Examples:
  footbridge send --to +14155550100 --location ve9EPM428h8vShlRW1KT "Hello" --wait
  echo "Hello" | footbridge send --to +14155550100 --location ve9EPM428h8vShlRW1KT - --wait 120`;

const DEFAULT_WAIT_SEC = 60;
/** Within five seconds, every node knows a new key (S6). */
const KEY_KNOWN_MS = 6000;
const RETRY_MS = 500;

/** `footbridge send`: sends a test text as the CRM would, signed with a key that exists only while the command runs. */
export function sendCommand(program: Command): void {
  program
    .command('send')
    .argument('<text>', 'the text; - reads it from standard input')
    .requiredOption('--to <number>', 'the number of the recipient, with its country code', phoneNumber)
    .requiredOption('--location <id>', 'the location whose Mac sends it')
    .option('--contact <id>', 'the contact id that the webhook names', 'footbridge-test')
    .option(
      '--wait [seconds]',
      `print each step until the outcome is known (default: ${DEFAULT_WAIT_SEC} seconds)`,
      seconds,
    )
    .option('--webhook <url>', 'address of the webhook (default: the delivery URL of the service)', httpUrl)
    .addHelpText('after', EXAMPLES)
    .action(async (given: string, options: Options, command: Command) => {
      const { io, output, operator, timeoutMs } = contextOf(command);
      const message = given === '-' ? (await readAll(io.stdin)).trimEnd() : given;
      if (message === '') throw usageError('the text is empty');
      const client = operator();
      const url = options.webhook ?? (await client.ask(showCrmApp)).deliveryUrl;
      const key = createTestKey(client, options.location);
      const cleanUp = async () => removeTestKey(client, (await key).id);
      const sent = await withCleanup(io, cleanUp, async () => {
        const { privateKey } = await key;
        const body = {
          locationId: options.location,
          contactId: options.contact,
          phone: options.to,
          message,
          userId: 'footbridge-send',
          // Not a field of the contract: without it, the same text again would be a repeat of this webhook, and not sent.
          nonce: randomUUID(),
        };
        return await sendSigned(new BridgeClient({ url, privateKey, attempts: 1, timeoutMs }), body);
      });
      if (!sent.ok) throw sendError(sent, url);
      const { requestId, locationId } = sent;
      output.result(`POST ${url} → 200   requestId ${requestId}`, { requestId, locationId });
      if (options.wait === undefined) {
        output.hint(`To see what became of it: footbridge show ${requestId}`);
        return;
      }
      const withinMs = (options.wait === true ? DEFAULT_WAIT_SEC : options.wait) * 1000;
      const { outcome, sentence } = await followMessage({ client, output, io, id: requestId, withinMs });
      output.result(sentence, { requestId, outcome, sentence });
      if (outcome !== 'delivered') throw new ExitError(EXIT.failed);
    });
}

interface TestKey {
  readonly id: string;
  readonly privateKey: string;
}

/** The key is limited to the location. Its private half never leaves this process. */
async function createTestKey(client: OperatorClient, locationId: string): Promise<TestKey> {
  const { publicKey, privateKey } = generateKeyPairSync('ed25519', {
    publicKeyEncoding: { type: 'spki', format: 'pem' },
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
  });
  const { id } = await client.ask(addKey, {
    label: 'footbridge send (temporary)',
    scheme: 'Ed25519',
    header: 'X-CRM-Signature',
    publicKey,
    locations: [locationId],
  });
  return { id, privateKey };
}

const removeTestKey = (client: OperatorClient, id: string): Promise<void> => client.ask(removeKey, { id });

/** Repeats a request that got 401 until every node must know the key. */
async function sendSigned(
  client: BridgeClient,
  message: Parameters<typeof sendMessage>[1],
): Promise<SendResult> {
  const deadline = performance.now() + KEY_KNOWN_MS;
  for (;;) {
    const result = await sendMessage(client, message);
    if (result.ok || result.status !== 401 || performance.now() > deadline) return result;
    await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
  }
}

const EXIT_OF: Readonly<Record<number, number>> = {
  401: EXIT.notAuthorised,
  404: EXIT.notFound,
  429: EXIT.rateLimited,
};

function sendError({ status, code, message }: SendFailure, url: string): CliError {
  if (status === undefined && code === 'UNREACHABLE')
    return new CliError(`the webhook at ${url} did not respond; the text may still have been sent`, {
      exitCode: EXIT.unreachable,
      next: 'check BASE_URL of the service with footbridge doctor, or pass --webhook http://127.0.0.1:4600/crm/webhook',
      code,
    });
  if (status === undefined) return usageError(message);
  return new CliError(message, {
    exitCode: EXIT_OF[status] ?? (status >= 500 ? EXIT.unreachable : EXIT.failed),
    code,
    next: `footbridge explain ${code}`,
  });
}
