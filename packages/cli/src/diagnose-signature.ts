import { createHash, createPublicKey, verify } from 'node:crypto';
import type { KeyObject } from 'node:crypto';

import { decodeBase64 } from '@footbridge/protocol/base64';

export interface CandidateKey {
  readonly label: string;
  readonly scheme: string;
  /** PEM. */
  readonly publicKey: string;
}

/** How far a signature got, and where it stopped. */
export type Step = 'header' | 'base64' | 'length' | 'key' | 'body' | 'verified';

export interface Diagnosis {
  readonly ok: boolean;
  /** The step that failed, or `verified`. */
  readonly step: Step;
  readonly reason: string;
  readonly hint?: string;
  readonly key?: string;
  readonly signatureBytes?: number;
  readonly bodyBytes: number;
  readonly bodySha256: string;
}

/** Goes the way of the service, step by step, and says which step fails and what most likely happened. Needs no service. */
export function diagnoseSignature(body: Buffer, signature: string, keys: readonly CandidateKey[]): Diagnosis {
  const facts = { bodyBytes: body.length, bodySha256: createHash('sha256').update(body).digest('hex') };
  const fail = (step: Step, reason: string, hint?: string): Diagnosis => ({
    ok: false,
    step,
    reason,
    ...(hint !== undefined && { hint }),
    ...facts,
  });

  if (signature === '')
    return fail('header', 'there is no signature', 'the request must carry the signature header');
  if (signature === 'N/A')
    return fail('header', 'the header says N/A: the CRM did not sign', 'switch signing on in the CRM');
  const bytes = decodeBase64(signature);
  if (bytes === undefined) return fail('base64', 'the signature is not strict base64', base64Hint(signature));

  const known = keys.map(({ label, scheme, publicKey }) => ({
    label,
    scheme,
    key: createPublicKey(publicKey),
  }));
  const fitting = known.filter(({ key }) => signatureBytes(key) === bytes.length);
  const found = { ...facts, signatureBytes: bytes.length };
  if (fitting.length === 0)
    return {
      ...fail('length', `the signature has ${bytes.length} bytes, which fits no key`, lengthHint(known)),
      ...found,
    };

  const by = (content: Buffer) => fitting.find(({ key, scheme }) => verifies(key, scheme, content, bytes));
  const match = by(body);
  if (match !== undefined)
    return { ok: true, step: 'verified', reason: 'the signature is good', key: match.label, ...found };

  for (const { what, content } of repairs(body)) {
    const repaired = by(content);
    if (repaired !== undefined)
      return {
        ...fail('body', 'the body changed after it was signed', `the signature matches ${what}`),
        key: repaired.label,
        ...found,
      };
  }
  return {
    ...fail(
      'key',
      `none of ${fitting.length} fitting keys made this signature over this body`,
      'either the key is not registered, or the body is not the bytes that were signed; save the raw request and compare its SHA-256',
    ),
    ...found,
  };
}

function signatureBytes(key: KeyObject): number {
  return key.asymmetricKeyType === 'ed25519'
    ? 64
    : Math.ceil((key.asymmetricKeyDetails?.modulusLength ?? 0) / 8);
}

function verifies(key: KeyObject, scheme: string, body: Buffer, signature: Uint8Array): boolean {
  return verify(scheme === 'Ed25519' ? null : 'sha256', body, key, signature);
}

function base64Hint(signature: string): string {
  if (/\s/.test(signature)) return 'it holds white space; was the header folded or copied over two lines?';
  if (/[-_]/.test(signature)) return 'it uses the URL-safe letters - and _; the standard ones are + and /';
  if (signature.includes(',')) return 'it holds several values; was the header sent twice?';
  if (/^[0-9a-f]+$/i.test(signature)) return 'it looks like hex; encode the same bytes as base64';
  if (signature.length % 4 !== 0) return 'its length is no multiple of four; is the padding (=) missing?';
  return 'it holds letters that are not base64, or unused bits that are not zero';
}

function lengthHint(keys: readonly { key: KeyObject }[]): string {
  if (keys.length === 0) return 'no key was given';
  const lengths = [...new Set(keys.map(({ key }) => signatureBytes(key)))];
  return `expected ${lengths.join(' or ')} bytes; an Ed25519 signature has 64, an RSA one as many as its key`;
}

/** What programs do to a body between signing and sending, undone. Cheap guesses, the most common first. */
function* repairs(body: Buffer): Generator<{ what: string; content: Buffer }> {
  const text = body.toString('utf8');
  const guess = (what: string, changed: string) => ({ what, content: Buffer.from(changed) });
  yield guess('the body without the line break at its end', text.replace(/\r?\n$/, ''));
  yield guess('the body with a line break at its end', `${text}\n`);
  yield guess('the body without white space around it', text.trim());
  yield guess('the body with CRLF turned into LF', text.replaceAll('\r\n', '\n'));
  yield guess('the body with LF turned into CRLF', text.replaceAll('\n', '\r\n'));
  yield guess('the body without its byte order mark', text.replace(/^\ufeff/, ''));
  const json = parsed(text);
  if (json === undefined) return;
  const compact = JSON.stringify(json);
  const re = (how: string) => `the same JSON ${how}: the body was probably re-serialised after signing`;
  yield guess(re('written compactly'), compact);
  yield guess(re('with an indent of two'), JSON.stringify(json, null, 2));
  yield guess(re('with an indent of four'), JSON.stringify(json, null, 4));
  yield guess(re('with spaces after commas and colons, as Python writes it'), spaced(json));
  yield guess(re('with escaped letters and spaces, as Python writes it'), escaped(spaced(json)));
  yield guess(re('with escaped slashes, as PHP writes it'), escaped(compact).replaceAll('/', '\\/'));
  yield guess(re('with escaped letters'), escaped(compact));
  yield guess(re('with its names sorted'), JSON.stringify(sorted(json)));
}

function parsed(text: string): object | undefined {
  try {
    const json: unknown = JSON.parse(text.replace(/^\ufeff/, ''));
    return typeof json === 'object' && json !== null ? json : undefined;
  } catch {
    return undefined;
  }
}

function spaced(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(spaced).join(', ')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  return `{${Object.entries(value)
    .map(([name, field]) => `${JSON.stringify(name)}: ${spaced(field)}`)
    .join(', ')}}`;
}

const escaped = (json: string): string =>
  json.replace(/[\u007f-\uffff]/g, (letter) => `\\u${letter.charCodeAt(0).toString(16).padStart(4, '0')}`);

function sorted(value: object): object {
  if (Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).sort(([left], [right]) => (left < right ? -1 : 1)));
}
