import { describe, expect, it } from 'vitest';

import type { Call, CrmClient } from './crm-client.ts';
import { createInboundCalls } from './inbound-calls.ts';

const MESSAGE = {
  locationId: 'loc',
  contactId: 'contact',
  message: 'hello',
  attachments: [],
  idempotencyKey: 'key',
};
const PATIENCE = { wanted: () => true, again: () => false, waiting() {} };

/** What is called, and what the answer `text` is read as. */
async function post(text: string, more: object = {}, conversationProviderId?: string) {
  const calls: Call[] = [];
  const client: CrmClient = {
    async call(call) {
      calls.push(call);
      const read = call.read?.(text);
      if (read === undefined) return { kind: 'unwanted' };
      return { kind: 'ok', status: 201, text: read, inDoubt: false };
    },
  };
  const shape = { type: conversationProviderId === undefined ? 'SMS' : 'Custom', conversationProviderId };
  const posted = await createInboundCalls(client, shape).post({ ...MESSAGE, ...more }, PATIENCE);
  return { posted, call: calls[0], body: JSON.parse(String(calls[0]?.body)) as object };
}

describe('an inbound message', () => {
  it('I1 has exactly the fields of the interface', async () => {
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
  });

  it.each([
    ['{"messageId":"m1"}', 'm1'],
    ['{"id":"m2"}', 'm2'],
    ['{"messageId":42}', '42'],
  ])('I1 %s says that the CRM has it', async (text, crmMessageId) => {
    expect((await post(text)).posted).toEqual({ kind: 'posted', crmMessageId, inDoubt: false });
  });

  it.each(['', '{}', 'null', '[]', '<html>', '{"messageId":""}', '{"messageId":null}', '{"messageId":{}}'])(
    'I1 %j says nothing of the kind',
    async (text) => {
      expect((await post(text)).posted).toEqual({ kind: 'unwanted' });
    },
  );
});
