import { describe, expect, it } from 'vitest';

import { succeeded } from '../../platform/retry/retry.ts';
import type { CrmCall, CrmClient } from '../crm/crm-client.ts';
import { createInboundCalls } from './inbound-calls.ts';

const MESSAGE = {
  locationId: 'loc',
  contactId: 'contact',
  message: 'hello',
  attachments: [],
  guid: 'GUID-1',
  idempotencyKey: 'key',
  direction: 'inbound',
} as const;

/** The call that is made, and what the response `text` is read as. */
async function post(text: string, more: object = {}, conversationProviderId?: string, sendAltId = false) {
  const calls: CrmCall<unknown>[] = [];
  const client: CrmClient = {
    async attempt(call) {
      calls.push(call);
      return call.read(text, 201, () => 0);
    },
  };
  const type = conversationProviderId === undefined ? 'SMS' : 'Custom';
  const shape = { type, conversationProviderId, sendAltId };
  const posted = await createInboundCalls(client, shape).post({ ...MESSAGE, ...more }, {});
  return { posted, call: calls[0], body: JSON.parse(String(calls[0]?.body)) as object };
}

describe('an inbound message', () => {
  it('I1 a message has exactly the fields of the interface', async () => {
    const { call, body } = await post('{}');
    expect(call).toMatchObject({
      method: 'POST',
      path: '/conversations/messages/inbound',
      idempotencyKey: 'key',
    });
    expect(body).toEqual({ type: 'SMS', contactId: 'contact', locationId: 'loc', message: 'hello' });
    expect((await post('{}', { attachments: ['https://a.test/1'] })).body).toMatchObject({
      attachments: ['https://a.test/1'],
    });
    expect((await post('{}', {}, 'provider')).body).toMatchObject({
      type: 'Custom',
      conversationProviderId: 'provider',
    });
    expect((await post('{}', {}, 'provider', true)).body).toMatchObject({ altId: 'GUID-1' });
    expect((await post('{}', { direction: 'outbound' })).body).toMatchObject({ direction: 'outbound' });
  });

  it.each([
    ['{"messageId":"m1"}', 'm1'],
    ['{"id":"m2"}', 'm2'],
    ['{"messageId":42}', '42'],
  ])('I1 a message is stored when the response is %s', async (text, crmMessageId) => {
    expect((await post(text)).posted).toEqual(succeeded(crmMessageId));
  });

  it.each(['', '{}', 'null', '[]', '<html>', '{"messageId":""}', '{"messageId":null}', '{"messageId":{}}'])(
    'I1 is in doubt when the response is %j',
    async (text) => {
      expect((await post(text)).posted).toMatchObject({
        kind: 'empty',
        retryable: true,
        inDoubt: true,
        status: 201,
      });
    },
  );
});
