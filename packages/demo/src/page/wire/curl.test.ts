import { describe, expect, it } from 'vitest';

import type { HttpExchange } from '../types.ts';
import { asCurl } from './curl.ts';

const ADDRESSES = { serviceUrl: 'http://127.0.0.1:4600', crmUrl: 'http://127.0.0.1:4620' };

const call = (more: Partial<HttpExchange>): HttpExchange => ({
  kind: 'http',
  n: 1,
  at: 0,
  leg: 'crm→service',
  method: 'POST',
  path: '/crm/webhook',
  requestHeaders: [],
  requestBody: '',
  requestBytes: 0,
  status: 200,
  answerHeaders: [],
  answerBody: '',
  answerBytes: 0,
  ms: 1,
  ...more,
});

describe('asCurl', () => {
  it('keeps the bytes and the signature, and escapes quotes', () => {
    const command = asCurl(
      call({
        requestHeaders: [
          ['Host', 'x'],
          ['X-CRM-Signature', 'c2ln'],
        ],
        requestBody: `{"message":"it's $HOME"}`,
        requestBytes: 24,
      }),
      ADDRESSES,
    );
    expect(command).toBe(
      [
        `curl -i -X POST 'http://127.0.0.1:4600/crm/webhook'`,
        `-H 'X-CRM-Signature: c2ln'`,
        String.raw`--data-binary '{"message":"it'\''s $HOME"}'`,
      ].join(' \\\n  '),
    );
  });

  it('uses a variable for the token, which is not recorded', () => {
    const requestHeaders = [['Authorization', 'Bearer abcd…']] as const;
    expect(asCurl(call({ leg: 'service→crm', requestHeaders }), ADDRESSES)).toContain(
      '-H "Authorization: Bearer $TOKEN"',
    );
  });

  it('returns undefined for a truncated or masked request', () => {
    expect(asCurl(call({ requestBody: 'short', requestBytes: 70_000 }), ADDRESSES)).toBeUndefined();
    expect(asCurl(call({ path: '/oauth/callback/crm?code=…' }), ADDRESSES)).toBeUndefined();
  });
});
