import { signWebhook } from '@footbridge/kit/sign-webhook';
import type { Command } from 'commander';

import { usageError } from '../cli-error.ts';
import { contextOf } from '../command-context.ts';
import { readBytes } from '../read-bytes.ts';

interface Options {
  readonly keyFile: string;
  readonly body: string;
  readonly header?: string;
}

const EXAMPLES = `
Examples:
  footbridge sign --key-file private.pem --body request.json
  printf '%s' "$BODY" | footbridge sign --key-file private.pem --body -`;

/** `footbridge sign`: signs a webhook body as the CRM does. Works offline; the private key is read and not stored. */
export function signCommand(program: Command): void {
  program
    .command('sign')
    .requiredOption('--key-file <pem>', 'private key of the CRM, PEM, PKCS#8')
    .requiredOption('--body <file>', 'the exact request body; - reads from standard input')
    .option('--header <name>', 'the header for which the key is registered (default: that of its type)')
    .addHelpText('after', EXAMPLES)
    .action(async ({ keyFile, body, header }: Options, command: Command) => {
      const { output } = contextOf(command);
      const { headers } = await signed(readBytes(body), readBytes(keyFile).toString('utf8'), header);
      const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
      output.result(lines.join('\n'), { headers });
    });
}

async function signed(body: Buffer, privateKey: string, header: string | undefined) {
  try {
    return await signWebhook(body, privateKey, header === undefined ? {} : { header });
  } catch (error) {
    throw usageError(error instanceof Error ? error.message : String(error), error);
  }
}
