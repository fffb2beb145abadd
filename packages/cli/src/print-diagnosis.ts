import { createPublicKey } from 'node:crypto';

import type { CandidateKey, Diagnosis } from '@footbridge/runtime/diagnose-signature';
import { printable } from '@footbridge/runtime/printable';

import { EXIT, ExitError, usageError } from './cli-error.ts';
import type { Output } from './output.ts';
import { readBytes } from './read-bytes.ts';

/** Prints which step of the verification failed. Throws an ExitError unless the signature is valid. */
export function printDiagnosis(output: Output, diagnosis: Diagnosis): void {
  output.result(formatDiagnosis(diagnosis), { ...diagnosis });
  if (!diagnosis.ok) throw new ExitError(EXIT.notAuthorised);
}

export function readPublicKey(file: string): CandidateKey {
  const publicKey = readBytes(file).toString('utf8');
  if (publicKey.includes('PRIVATE KEY'))
    throw usageError(`${file} contains a private key; pass the public key instead`);
  return { label: file, scheme: schemeOf(publicKey, file), publicKey };
}

function schemeOf(publicKey: string, file: string): string {
  try {
    return createPublicKey(publicKey).asymmetricKeyType === 'ed25519' ? 'Ed25519' : 'RSA-SHA256';
  } catch (error) {
    throw usageError(`${file} is not a public key in PEM format`, error);
  }
}

function formatDiagnosis(diagnosis: Diagnosis): string {
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
