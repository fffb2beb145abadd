import { readFileSync, writeFileSync } from 'node:fs';

import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import { describe, expect, it } from 'vitest';

import { openApiDocument } from '@footbridge/service/platform/openapi/openapi-document';

import { GOOD as GOOD_HERE, bridgesWithMac } from './test-bridge.ts';
import type { Answer } from './test-bridge.ts';

const start = bridgesWithMac();

/** Recorded with the last release. `RECORD_GOLDEN=1` records them again; use it only for new bodies. */
const GOLDEN = new URL('../../packages/service/src/platform/openapi/golden/answers.json', import.meta.url);

interface Recorded {
  readonly path: string;
  readonly status: number;
  readonly body: unknown;
}

/** The locations of the recorded responses. */
const LOCATION = 'locA1';
const GOOD = { ...GOOD_HERE, locationId: LOCATION };

async function startWithMac(env?: Record<string, string>) {
  const bridge = await start(env && { env });
  await bridge.mac(LOCATION);
  return bridge;
}

const recorded = (
  path: string,
  { status, json, text }: Pick<Answer, 'status' | 'json' | 'text'>,
): Recorded => ({
  path,
  status,
  body:
    json === undefined
      ? text
      : { ...json, ...('requestId' in json && { requestId: '01900000-0000-7000-8000-000000000000' }) },
});

/** Every kind of response of the webhook, produced by a running service. */
async function webhookAnswers(): Promise<Record<string, Recorded>> {
  const usual = await startWithMac();
  const tight = await startWithMac({ RATE_LIMIT_CRM_WEBHOOK: '1' });
  const down = await startWithMac({ FAILPOINTS: 'outbound.switchboard:throw' });
  const broken = await startWithMac({ FAILPOINTS: 'outbound.beforeForward:throw' });
  await tight.post(GOOD);
  const typed = (type: string) => ({ headers: { 'Content-Type': type } });
  const answers: Record<string, Answer> = {
    sent: await usual.post(GOOD),
    'sent without messageId': await usual.post({ ...GOOD, messageId: undefined }),
    'invalid signature': await usual.post(GOOD, { unsigned: true }),
    'malformed JSON': await usual.post('{'),
    'too large': await usual.post(' '.repeat(1_048_577)),
    encoded: await usual.post(GOOD, { headers: { 'Content-Encoding': 'gzip' } }),
    INVALID_CONTENT_TYPE: await usual.post(GOOD, typed('text/plain')),
    INVALID_REQUEST_BODY: await usual.post(GOOD, typed('application/jsonl')),
    MISSING_REQUIRED_FIELDS: await usual.post({ messageId: 'm', userId: 'u' }),
    INVALID_ATTACHMENTS: await usual.post({ ...GOOD, attachments: ['nonsense'] }),
    MESSAGE_BODY_TOO_LONG: await usual.post({ ...GOOD, message: 'a'.repeat(20_001) }),
    RECIPIENT_PHONE_INVALID: await usual.post({ ...GOOD, phone: 'nonsense' }),
    UNSUPPORTED_MESSAGE_TYPE: await usual.post({ ...GOOD, type: 'Email' }),
    LOCATION_NOT_CONNECTED: await usual.post({ ...GOOD, locationId: 'locB2' }),
    METHOD_NOT_ALLOWED: await usual.fetch({ method: 'GET' }),
    TOO_MANY_REQUESTS: await tight.post(GOOD),
    SERVICE_UNAVAILABLE: await down.post(GOOD),
    INTERNAL_ERROR: await broken.post(GOOD),
  };
  return Object.fromEntries(
    Object.entries(answers).map(([name, answer]) => [name, recorded('/crm/webhook', answer)]),
  );
}

async function otherAnswers(): Promise<Record<string, Recorded>> {
  const bridge = await start({ env: { RATE_LIMIT_HEALTH_PROBE: '1' } });
  const ask = async (path: string, init: RequestInit = {}): Promise<Recorded> => {
    const response = await fetch(bridge.url + path, init);
    const text = await response.text();
    return recorded(path.replace(/\?.*/, ''), {
      status: response.status,
      text,
      json: JSON.parse(text) as Answer['json'],
    });
  };
  return {
    'health probe': await ask('/health?pm2=1'),
    'health limit': await ask('/health?pm2=1'),
    'unknown path': await ask('/nowhere'),
    GONE: await ask('/send-message', { method: 'POST' }),
  };
}

describe('recorded responses', () => {
  it('V1 have the same fields, labels and codes in this version', async () => {
    const answers = { ...(await webhookAnswers()), ...(await otherAnswers()) };
    if (process.env['RECORD_GOLDEN'] === '1') writeFileSync(GOLDEN, `${JSON.stringify(answers, null, 1)}\n`);
    expect(answers).toEqual(JSON.parse(readFileSync(GOLDEN, 'utf8')));
  });

  it('V1 match the OpenAPI document', async () => {
    const answers = JSON.parse(readFileSync(GOLDEN, 'utf8')) as Record<string, Recorded>;
    const { paths, components } = openApiDocument({ version: '0.1.0', url: 'https://bridge.example' });
    const ajv = new Ajv2020({ strict: false });
    addFormats.default(ajv);
    for (const [name, { path, status, body }] of Object.entries(answers)) {
      const item = paths[path];
      if (item === undefined || name === 'METHOD_NOT_ALLOWED') continue;
      const [operation] = Object.values(item) as {
        responses: Record<string, { content: Record<string, { schema: object }> }>;
      }[];
      const content = operation?.responses[status]?.content;
      const media = typeof body === 'string' ? 'text/html' : 'application/json';
      const schema = content?.[media]?.schema;
      expect(schema, `${name}: ${status} ${media} is not described`).toBeDefined();
      const valid = ajv.compile({ ...schema, components });
      expect(valid(body), `${name}: ${ajv.errorsText(valid.errors)}`).toBe(true);
    }
  });
});
