import { createRequire } from 'node:module';

import { runConformance } from '@footbridge/conformance/run-conformance';
import { openListener } from '@footbridge/conformance/webhook-listener';
import { errorCode } from '@footbridge/runtime/error-code';
import { InvalidArgumentError } from 'commander';
import type { Command } from 'commander';

import { CliError, EXIT, usageError } from '../cli-error.ts';
import { contextOf } from '../command-context.ts';
import { createPerson } from '../conformance/create-person.ts';
import { printInstructions, printResult, printVerdict } from '../conformance/print-results.ts';
import { reportWriters } from '../conformance/write-reports.ts';
import { withCleanup } from '../io.ts';
import { collect, httpUrl, phoneNumber, seconds, wholeNumber } from '../option-values.ts';
import { readPublicKey } from '../print-diagnosis.ts';
import { isToken, readSecret } from '../read-secret.ts';

const { version } = createRequire(import.meta.url)('../../package.json') as { version: string };

interface Options {
  readonly crm?: string;
  readonly location: string;
  readonly contact?: string;
  readonly phone: string;
  readonly type: string;
  readonly provider?: string;
  readonly apiVersion: string;
  readonly burst: number;
  readonly listUrl?: string;
  readonly statusUrl?: string;
  readonly messageId?: readonly string[];
  readonly listen?: { readonly host: string; readonly port: number };
  readonly sendUrl?: string;
  readonly keyFile?: string;
  readonly header?: string;
  readonly wait?: number;
  readonly junit?: string;
  readonly html?: string;
  readonly badge?: string;
}

const EXAMPLES = `
Checks both directions: the calls that the service makes to your CRM (--crm), and the webhooks that your CRM
sends to the service (--listen). Set the delivery address in the CRM to the address that the command prints. The
run creates test messages for one test contact, so use a test location. The rules are in docs/crm.md.

To make the CRM send a message, the command sends POST {"type","locationId","contactId","phone","message",
"attachments"} with the token to --send-url. Without --send-url, it asks you to send the messages.

Examples:
  footbridge conformance --crm http://localhost:3000 --token-file token --send-url http://localhost:3000/send --key-file crm.pem
  footbridge conformance --crm https://crm.example.com/api --token-file token --location loc1 --html report.html
  footbridge conformance --listen 0.0.0.0:4700 --key-file crm.pem --header X-Signature`;

const WAIT_SEC = 60;
const PERSON_WAIT_SEC = 300;
const DEFAULT_LISTEN = { host: '127.0.0.1', port: 4700 };

/** `footbridge conformance`: checks a CRM against the contract, in both directions. Needs no service. */
export function conformanceCommand(program: Command): void {
  program
    .command('conformance')
    .option('--crm <url>', "address of the CRM's API; its access token is in --token-file", httpUrl)
    .option('--location <id>', 'location for the test messages', 'conformance')
    .option('--contact <id>', 'contact for the test messages (default: a new one)')
    .option('--phone <number>', 'phone number of the test contact', phoneNumber, '+14155550142')
    .option('--type <type>', 'type of inbound messages', 'SMS')
    .option('--provider <id>', 'conversationProviderId of inbound messages')
    .option('--api-version <version>', 'Version header of the calls', '2021-07-28')
    .option(
      '--burst <count>',
      'number of calls to make in a burst to reach the rate limit of the CRM; 0 skips this',
      wholeNumber(0, 10_000),
      0,
    )
    .option('--list-url <url>', 'address that lists the messages of {contactId} as JSON', httpUrl)
    .option('--status-url <url>', 'address that returns the status of {messageId} as JSON', httpUrl)
    .option(
      '--message-id <id>',
      'id of a message that the CRM sent, to report statuses for; repeat for several',
      collect,
    )
    .option(
      '--listen <host:port>',
      'receive webhooks here; port 0 picks a free port (default: 127.0.0.1:4700)',
      listenAddress,
    )
    .option('--send-url <url>', 'address that makes the CRM send a message', httpUrl)
    .option('--key-file <pem>', 'public key of the CRM, to verify its signatures')
    .option('--header <name>', 'header with the signature (default: depends on the key type)')
    .option(
      '--wait <seconds>',
      `how long to wait for webhooks and their retries (default: ${WAIT_SEC}, or ${PERSON_WAIT_SEC} without --send-url)`,
      seconds,
    )
    .option('--junit <file>', 'write a JUnit report')
    .option('--html <file>', 'write a report as a web page')
    .option('--badge <file>', 'write a badge (SVG)')
    .addHelpText('after', EXAMPLES)
    .action(async (options: Options, command: Command) => {
      const { io, output, timeoutMs, noInput, tokenFile, beforeChange } = contextOf(command);
      const { crm, sendUrl, keyFile, listen } = options;
      const sends = listen !== undefined || keyFile !== undefined || sendUrl !== undefined;
      if (crm === undefined && !sends)
        throw usageError('nothing to check: pass --crm, --listen or both; see footbridge conformance --help');
      if (crm !== undefined && tokenFile === undefined)
        throw usageError('--crm needs --token-file with the access token of the CRM');
      const token = tokenFile === undefined ? undefined : readToken(tokenFile);
      const key = keyFile === undefined ? undefined : readPublicKey(keyFile);
      const writers = reportWriters(options);
      beforeChange('create a contact and test messages in the CRM');
      const { host, port } = listen ?? DEFAULT_LISTEN;
      const listener = sends
        ? await openListener(host, port).catch((error: unknown) => {
            throw cannotListen(error, host, port);
          })
        : undefined;
      const stopped = new AbortController();
      const close = async () => {
        stopped.abort();
        await listener?.close();
      };
      const { wait = sendUrl === undefined ? PERSON_WAIT_SEC : WAIT_SEC } = options;
      const { phone, type, apiVersion, burst, listUrl, statusUrl, messageId: messageIds = [] } = options;
      await withCleanup(io, close, async () => {
        if (listener !== undefined)
          output.hint(`Listening for webhooks of the CRM at ${listener.url}/crm/webhook`);
        const startedAt = new Date().toISOString();
        const results = await runConformance({
          crm,
          token,
          phone,
          type,
          apiVersion,
          burst,
          listUrl,
          statusUrl,
          messageIds,
          sendUrl,
          key,
          listener,
          timeoutMs,
          locationId: options.location,
          contactId: options.contact,
          conversationProviderId: options.provider,
          header: options.header ?? (key?.scheme === 'RSA-SHA256' ? 'X-WH-Signature' : 'X-CRM-Signature'),
          waitMs: wait * 1000,
          person: createPerson(io, noInput),
          instruct: (texts) => printInstructions(io.stderr, texts, wait),
          onResult: (result) => printResult(output, result),
          signal: stopped.signal,
        }).catch((error: unknown) => {
          if (!stopped.signal.aborted) throw error;
          throw new CliError('interrupted, no report was written', { exitCode: EXIT.interrupted });
        });
        const address = crm === undefined ? 'not checked' : new URL(crm).origin + new URL(crm).pathname;
        const report = { version, startedAt, crm: address, locationId: options.location, results };
        for (const write of writers) write(report);
        printVerdict(output, report);
      });
    });
}

function listenAddress(text: string): { host: string; port: number } {
  const [, host = DEFAULT_LISTEN.host, digits = ''] =
    /^(?:(\[[\da-f:.]+\]|[\w.-]+):)?(\d{1,5})$/i.exec(text) ?? [];
  const port = digits === '' ? Number.NaN : Number(digits);
  if (port <= 65_535) return { host: host.replaceAll(/[[\]]/g, ''), port };
  throw new InvalidArgumentError('It must be an address and a port, such as 127.0.0.1:4700.');
}

function cannotListen(error: unknown, host: string, port: number): CliError {
  const code = errorCode(error) ?? 'unknown error';
  if (code === 'EADDRINUSE')
    return usageError(`port ${port} is in use; pass another one with --listen`, error);
  return new CliError(`cannot listen on ${host}:${port}: ${code}`, {
    next: 'pass an address of this machine with --listen, such as 127.0.0.1:4700',
    cause: error,
  });
}

function readToken(file: string): string {
  const token = readSecret(file);
  if (isToken(token)) return token;
  throw usageError(`${file} does not contain a token, which is one line without spaces`);
}
