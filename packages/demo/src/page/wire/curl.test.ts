import { describe, expect, it } from 'vitest';

import type { HttpExchange } from '../shapes.ts';
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
  it('keeps the bytes and the signature, whatever quotes they hold', () => {
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

  it('asks for the token, which was never kept', () => {
    const requestHeaders = [['Authorization', 'Bearer abcd…']] as const;
    expect(asCurl(call({ leg: 'service→crm', requestHeaders }), ADDRESSES)).toContain(
      '-H "Authorization: Bearer $TOKEN"',
    );
  });

  it('is not offered for what was shortened or masked', () => {
    expect(asCurl(call({ requestBody: 'short', requestBytes: 70_000 }), ADDRESSES)).toBeUndefined();
    expect(asCurl(call({ path: '/oauth/callback/crm?code=…' }), ADDRESSES)).toBeUndefined();
  });
});
