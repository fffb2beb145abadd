import { createHash, createPublicKey, verify } from 'node:crypto';
import type { KeyObject } from 'node:crypto';

import { decodeBase64 } from '@footbridge/protocol/base64';
import { readJson } from '@footbridge/protocol/read-json';

export interface CandidateKey {
  readonly label: string;
  readonly scheme: string;
  /** PEM. */
  readonly publicKey: string;
  /** The service ignores a disabled key. */
  readonly enabled?: boolean;
  /** The locations that the key is limited to. */
  readonly locations?: readonly string[] | null;
}

/** The steps of the verification, in order. */
export type Step = 'header' | 'base64' | 'length' | 'key' | 'body' | 'enabled' | 'location' | 'verified';

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

/** Verifies a signature as the service does and returns the step that fails, with the most likely cause. Works offline. */
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
    return fail('header', 'the signature is empty', 'the request must have a signature header');
  if (signature === 'N/A')
    return fail('header', 'the header is N/A: the CRM did not sign the request', 'enable signing in the CRM');
  const bytes = decodeBase64(signature);
  if (bytes === undefined) return fail('base64', 'the signature is not strict base64', base64Hint(signature));

  const locationId = locationOf(body);
  const candidates = keys.map((candidate) => ({
    label: candidate.label,
    scheme: candidate.scheme,
    key: createPublicKey(candidate.publicKey),
    rejection: rejectionOf(candidate, locationId),
  }));
  const sameLength = candidates.filter(({ key }) => signatureBytes(key) === bytes.length);
  const details = { ...facts, signatureBytes: bytes.length };
  if (sameLength.length === 0)
    return {
      ...fail(
        'length',
        `the signature has ${bytes.length} bytes, which matches no key`,
        lengthHint(candidates),
      ),
      ...details,
    };

  const signersOf = (content: Buffer) =>
    sameLength.filter(({ key, scheme }) => verifies(key, scheme, content, bytes));
  const signers = signersOf(body);
  const signer = signers.find(({ rejection }) => rejection === undefined) ?? signers[0];
  if (signer?.rejection !== undefined) {
    const { step, reason, hint } = signer.rejection;
    return { ...fail(step, reason, hint), key: signer.label, ...details };
  }
  if (signer !== undefined)
    return { ok: true, step: 'verified', reason: 'the signature is valid', key: signer.label, ...details };

  for (const { description, content } of originalCandidates(body)) {
    const [original] = signersOf(content);
    if (original !== undefined)
      return {
        ...fail('body', 'the body was changed after it was signed', `the signature matches ${description}`),
        key: original.label,
        ...details,
      };
  }
  return {
    ...fail(
      'key',
      `the signature does not match the body under any of ${sameLength.length} keys`,
      'either the key is not registered, or these are not the bytes that were signed; save the raw request and compare its SHA-256',
    ),
    ...details,
  };
}

/** Returns why the service responds 401 although the signature is right. */
function rejectionOf(
  { label, enabled = true, locations }: CandidateKey,
  locationId: string | undefined,
): { step: Step; reason: string; hint: string } | undefined {
  if (!enabled)
    return {
      step: 'enabled',
      reason: 'the signature is right, but its key is disabled',
      hint: `the service responds 401; to accept the key: footbridge keys enable ${JSON.stringify(label)}`,
    };
  if (!locations || (locationId !== undefined && locations.includes(locationId))) return undefined;
  return {
    step: 'location',
    reason: "the signature is right, but its key is limited to other locations than the body's locationId",
    hint: 'the service responds 401; sign with a key for this location, or add the key again with it',
  };
}

function locationOf(body: Buffer): string | undefined {
  const locationId: unknown = Reflect.get(parsed(body.toString('utf8')) ?? {}, 'locationId');
  return typeof locationId === 'string' ? locationId : undefined;
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
  if (/\s/.test(signature)) return 'it contains white space; check whether it was copied over two lines';
  if (/[-_]/.test(signature))
    return 'it uses the URL-safe alphabet (- and _) instead of the standard one (+ and /)';
  if (signature.includes(',')) return 'it contains several values; check whether the header was sent twice';
  if (/^[0-9a-f]+$/i.test(signature)) return 'it looks like hex; encode the bytes as base64 instead';
  if (signature.length % 4 !== 0)
    return 'its length is not a multiple of four; the padding (=) may be missing';
  return 'it contains characters that are not base64, or unused bits that are not zero';
}

function lengthHint(keys: readonly { key: KeyObject }[]): string {
  if (keys.length === 0) return 'no key was given';
  const lengths = [...new Set(keys.map(({ key }) => signatureBytes(key)))];
  return `expected ${lengths.join(' or ')} bytes; an Ed25519 signature has 64, an RSA signature as many as its key`;
}

/** Yields what the body may have been before common changes between signing and sending, the most common first. */
function* originalCandidates(body: Buffer): Generator<{ description: string; content: Buffer }> {
  const text = body.toString('utf8');
  const guess = (description: string, changed: string) => ({ description, content: Buffer.from(changed) });
  yield guess('the body without its trailing line break', text.replace(/\r?\n$/, ''));
  yield guess('the body with a trailing line break', `${text}\n`);
  yield guess('the body without surrounding white space', text.trim());
  yield guess('the body with LF instead of CRLF', text.replaceAll('\r\n', '\n'));
  yield guess('the body with CRLF instead of LF', text.replaceAll('\n', '\r\n'));
  yield guess('the body without its byte order mark', text.replace(/^\ufeff/, ''));
  const json = parsed(text);
  if (json === undefined) return;
  const compact = JSON.stringify(json);
  const reserialised = (form: string) =>
    `the same JSON ${form}: the body was probably re-serialised after signing`;
  yield guess(reserialised('in compact form'), compact);
  yield guess(reserialised('with an indent of two'), JSON.stringify(json, null, 2));
  yield guess(reserialised('with an indent of four'), JSON.stringify(json, null, 4));
  yield guess(reserialised('with spaces after commas and colons, as Python writes it'), spaced(json));
  yield guess(reserialised('with non-ASCII escapes and spaces, as Python writes it'), escaped(spaced(json)));
  yield guess(
    reserialised('with escaped slashes, as PHP writes it'),
    escaped(compact).replaceAll('/', '\\/'),
  );
  yield guess(reserialised('with non-ASCII escapes'), escaped(compact));
  yield guess(reserialised('with sorted keys'), JSON.stringify(sorted(json)));
}

function parsed(text: string): object | undefined {
  const json = readJson(text.replace(/^\ufeff/, ''));
  return typeof json === 'object' && json !== null ? json : undefined;
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
