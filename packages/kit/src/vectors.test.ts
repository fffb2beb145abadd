import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import base64 from '../vectors/base64.json' with { type: 'json' };
import footerVectors from '../vectors/footers.json' with { type: 'json' };
import headerVectors from '../vectors/headers.json' with { type: 'json' };
import lengths from '../vectors/lengths.json' with { type: 'json' };
import reactionVectors from '../vectors/reactions.json' with { type: 'json' };
import aliasVectors from '../vectors/removed-aliases.json' with { type: 'json' };
import retries from '../vectors/retries.json' with { type: 'json' };
import ed25519 from '../vectors/signatures-ed25519.json' with { type: 'json' };
import rsa from '../vectors/signatures-rsa-sha256.json' with { type: 'json' };
import statuses from '../vectors/statuses.json' with { type: 'json' };
import {
  checkMessage,
  isRetryable,
  makeFooter,
  nextStatus,
  parseFooter,
  reactionsFor,
  reduceReactions,
  signWebhook,
  stripFooter,
  verifyWebhook,
  type MessageStatus,
  type ReactionState,
} from './kit.ts';

const keyNamed = (name: string) => (name === 'seed' ? ed25519.keys.seed : ed25519.keys.rfc8032);

async function isAccepted(
  body: string,
  signature: string,
  publicKey: string,
  scheme: 'Ed25519' | 'RSA-SHA256',
) {
  const header = scheme === 'Ed25519' ? 'x-crm-signature' : 'x-wh-signature';
  return (await verifyWebhook(body, { [header]: signature }, [{ publicKey, scheme }])).ok;
}

describe('the vectors', () => {
  it('the README lists every file', async () => {
    const folder = new URL('../vectors/', import.meta.url);
    const listed = Array.from(
      (await readFile(new URL('README.md', folder), 'utf8')).matchAll(/`([\w-]+\.json)`/g),
      ([, name = '']) => name,
    );
    const files = (await readdir(folder)).filter((name) => name.endsWith('.json'));
    expect([...new Set(listed)].sort()).toEqual(files.sort());
  });
});

describe('signatures', () => {
  it.each([...ed25519.valid, ...rsa.valid])(
    'the vector has the stated bytes, length and digest: $name',
    ({ body, bodyBase64, bytes, sha256 }) => {
      const raw = Buffer.from(bodyBase64, 'base64');
      expect([raw.toString(), raw.length]).toEqual([body, bytes]);
      expect(createHash('sha256').update(raw).digest('hex')).toBe(sha256);
    },
  );

  it.each(ed25519.valid)('Ed25519 signs and verifies: $name', async ({ key, body, signature }) => {
    const { privateKeyPem, publicKeyPem } = keyNamed(key);
    const signed = await signWebhook(body, privateKeyPem);
    expect(signed.headers['X-CRM-Signature']).toBe(signature);
    expect(await isAccepted(body, signature, publicKeyPem, 'Ed25519')).toBe(true);
  });

  it.each(ed25519.invalid)('Ed25519 rejects: $name', async ({ key, body, signature }) => {
    expect(await isAccepted(body, signature, keyNamed(key).publicKeyPem, 'Ed25519')).toBe(false);
  });

  it.each(rsa.valid)('RSA-SHA256 signs and verifies: $name', async ({ body, signature }) => {
    const signed = await signWebhook(body, rsa.key.privateKeyPem);
    expect(signed.headers['X-WH-Signature']).toBe(signature);
    expect(await isAccepted(body, signature, rsa.key.publicKeyPem, 'RSA-SHA256')).toBe(true);
  });

  it.each(rsa.invalid)('RSA-SHA256 rejects: $name', async ({ body, signature }) => {
    expect(await isAccepted(body, signature, rsa.key.publicKeyPem, 'RSA-SHA256')).toBe(false);
  });

  it.each(base64.spellings)(
    'accepts exactly one base64 encoding of a signature: $name',
    async ({ value, ok }) => {
      expect(await isAccepted(base64.body, value, keyNamed('seed').publicKeyPem, 'Ed25519')).toBe(ok);
    },
  );
});

interface SignedRequest {
  name: string;
  headers: Record<string, string | string[]>;
  trusted: { key: string; scheme: string; header?: string }[];
  accepted: number | null;
}
const requests = headerVectors.requests as unknown as SignedRequest[];

describe('signature headers', () => {
  it.each(requests)('verifies the correct header: $name', async ({ headers, trusted, accepted }) => {
    const keys = trusted.map(({ key, scheme, ...rest }) => ({
      publicKey: key === 'rsa' ? rsa.key.publicKeyPem : keyNamed(key).publicKeyPem,
      scheme: scheme === 'Ed25519' ? ('Ed25519' as const) : ('RSA-SHA256' as const),
      ...rest,
    }));
    const verified = await verifyWebhook(headerVectors.body, headers, keys);
    expect(verified.ok ? keys.indexOf(verified.key) : null).toBe(accepted);
  });
});

const { aliases } = aliasVectors;

describe('messages', () => {
  it('the vectors contain all 31 removed aliases', () => {
    expect(new Set(aliases.map(({ alias }) => alias)).size).toBe(31);
  });

  it.each(aliases)('$alias is rejected with a hint', ({ alias, field, body }) => {
    const fault = checkMessage(body).find((found) => found.field === alias);
    expect(fault?.code).toBe('MISSING_REQUIRED_FIELDS');
    expect(fault?.message).toContain(field === 'conversationId' ? 'messageId' : `use ${field}`);
  });

  it.each(lengths.texts)(
    'checks the length of $units code units of $unit',
    ({ unit, times, units, codePoints, utf8Bytes, ok }) => {
      const message = unit.repeat(times);
      expect([message.length, Array.from(message).length, Buffer.byteLength(message)]).toEqual([
        units,
        codePoints,
        utf8Bytes,
      ]);
      const faults = checkMessage({
        locationId: 'locTEST1',
        contactId: 'c1',
        message,
      });
      expect(faults.map(({ code }) => code)).toEqual(ok ? [] : ['MESSAGE_BODY_TOO_LONG']);
      if (!ok) expect(faults[0]?.message).toContain(`${units} UTF-16 code units`);
      expect(units <= lengths.limit).toBe(ok);
    },
  );
});

const { footers } = footerVectors;

describe('footers', () => {
  it('F1 the vectors contain at least 60 different messages', () => {
    expect(new Set(footers.map(({ message }) => message)).size).toBe(footers.length);
    expect(footers.length).toBeGreaterThanOrEqual(60);
  });

  it.each(footers)('F1 $name', ({ message, text, metadata, form, unreadable }) => {
    const read = parseFooter(message);
    expect(read.text).toBe(text);
    expect(read.metadata).toEqual(metadata);
    expect(read.form ?? null).toBe(form);
    expect(read.problem !== undefined).toBe(unreadable);
    expect(stripFooter(message)).toBe(text);
  });

  it.each(footers)(
    'F10 survives a round trip as the text before another footer: $name',
    ({ message: text }) => {
      for (const form of ['block', 'sentinel'] as const) {
        expect(parseFooter(makeFooter({ chat_id: 7 }, { text, form }))).toMatchObject({
          text,
          metadata: { chat_id: 7 },
          form,
        });
      }
    },
  );
});

interface Sequence {
  name: string;
  events: { metadata: object; at?: number; attachments?: string[] }[];
  target: string;
  shown: unknown[];
}
const sequences: Sequence[] = reactionVectors.sequences;

describe('reactions', () => {
  it('F9 the vectors contain at least 40 sequences', () => {
    expect(sequences.length).toBeGreaterThanOrEqual(40);
  });

  it.each(sequences)('F9 $name', ({ events, target, shown }) => {
    let state: ReactionState = {};
    for (const { metadata, ...rest } of events) {
      const message = `Loved “Hi”\n-- svc-metadata:v1 --\n${JSON.stringify(metadata)}\n-- end svc-metadata --`;
      state = reduceReactions(state, { message, ...rest });
    }
    expect(reactionsFor(state, target)).toEqual(shown);
    expect(reactionsFor(JSON.parse(JSON.stringify(state)) as ReactionState, target)).toEqual(shown);
  });
});

describe('statuses', () => {
  it.each(statuses.sequences)('$name', ({ incoming, end }) => {
    let status: MessageStatus | undefined;
    for (const next of incoming) status = nextStatus(status, next);
    expect(status ?? null).toBe(end);
  });

  it.each(retries.codes)('V2 $code: retry $retry, transient $transient', ({ code, retry, transient }) => {
    expect(isRetryable(code)).toMatchObject({ retry, transient });
  });
});
