import { diagnoseSignature } from '@footbridge/runtime/diagnose-signature';
import type { Command } from 'commander';

import { contextOf } from '../command-context.ts';
import { printDiagnosis, readPublicKey } from '../print-diagnosis.ts';
import { readBytes } from '../read-bytes.ts';
import { listKeys } from '../trusted-keys.ts';

interface Options {
  readonly body: string;
  readonly signature: string;
  readonly keyFile?: readonly string[];
}

const EXAMPLES = `
Examples:
  footbridge verify --body request.json --signature "$SIGNATURE"
  printf '%s' "$BODY" | footbridge verify --body - --signature "$SIGNATURE" --key-file crm.pem`;

/** `footbridge verify`: names the step at which a signature fails. Works offline with `--key-file`. */
export function verifyCommand(program: Command): void {
  const verify = program.command('verify').addHelpText('after', EXAMPLES);
  addVerification(verify);
}

/** Adds the arguments and the action, which `footbridge keys test` shares. */
export function addVerification(command: Command): void {
  command
    .requiredOption('--body <file>', 'the raw request body; - reads from standard input')
    .requiredOption('--signature <base64>', 'the value of the signature header')
    .option('--key-file <pem...>', 'public keys to try instead of those of the service')
    .action(async ({ body, signature, keyFile }: Options, own: Command) => {
      const { output, operator } = contextOf(own);
      const candidates = keyFile === undefined ? await listKeys(operator()) : keyFile.map(readPublicKey);
      printDiagnosis(output, diagnoseSignature(readBytes(body), signature, candidates));
    });
}
