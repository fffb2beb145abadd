import { makeFooter, makeReaction } from '@footbridge/kit';
import { describe, expect, it } from 'vitest';

import type { CallOrFrame, HttpExchange, Leg } from '../types.ts';
import { explain, headingFor } from './explain.ts';

function call(method: string, path: string, body: unknown, status: number | null = 200): HttpExchange {
  const requestBody = JSON.stringify(body);
  const leg: Leg = path.startsWith('/crm/') ? 'crm→service' : 'service→crm';
  return {
    kind: 'http',
    n: 1,
    at: 0,
    leg,
    method,
    path,
    requestHeaders: [],
    requestBody,
    requestBytes: requestBody.length,
    status,
    answerHeaders: [],
    answerBody: '',
    answerBytes: 0,
    ms: 1,
  };
}

const frame = (type: string, fields: object): CallOrFrame => ({
  kind: 'frame',
  n: 1,
  at: 0,
  leg: 'mac→service',
  link: 1,
  type,
  text: JSON.stringify({ type, ...fields }),
});

const webhook = (message: string, status: number | null = 200) =>
  call('POST', '/crm/webhook', { message }, status);
const love = { chatId: 1, target: 'A', kind: 'classic', type: 'love', action: 'add' } as const;

describe('headingFor', () => {
  it.each([
    ['a text', webhook('See you'), 'Harbor Bikes sends a message', 'See you'],
    [
      'a text without its footer',
      webhook(makeFooter({ chat_id: 1 }, { text: 'Hi' })),
      'Harbor Bikes sends a message',
      'Hi',
    ],
    ['a reaction', webhook(makeReaction(love)), 'Harbor Bikes reacts', '❤️'],
    ['an invalid signature', webhook('Hi', 401), 'Request with an invalid signature', 'Hi'],
    [
      'a location without a Mac',
      webhook('Hi', 404),
      'Harbor Bikes sends a message, no Mac is connected',
      'Hi',
    ],
    [
      'a reply',
      frame('message_received', { sender: '+15550', text: 'Yes' }),
      '+15550 sends a message',
      'Yes',
    ],
    [
      'a voice message',
      frame('message_received', { sender: '+1', text: '', voice: {} }),
      '+1 sends a voice message',
      '',
    ],
    [
      'a removed emoji',
      frame('message_received', { sender: '+1', reaction: { kind: 'emoji', emoji: '🔥', action: 'remove' } }),
      '+1 removes a reaction',
      '🔥',
    ],
    ['an activation', call('POST', '/mac/activate', {}), 'A Mac is activated', ''],
    ['a registration', frame('register', {}), 'The Mac connects', ''],
    [
      'a takeover',
      { ...frame('close', {}), text: '4501 another Mac' } as CallOrFrame,
      'A newer Mac takes over',
      '',
    ],
    ['a refresh', call('POST', '/oauth/token', {}), 'Footbridge requests a token', ''],
  ])('returns a heading for %s', (_what, entry, title, quote) => {
    expect(headingFor(entry)).toEqual({ title, quote });
  });

  it.each([frame('ack', {}), frame('send', {}), call('PUT', '/conversations/messages/m/status', {})])(
    'returns undefined for an entry that results from an action',
    (entry) => expect(headingFor(entry)).toBeUndefined(),
  );
});

describe('explain', () => {
  const status = (to: string, httpStatus: number | null = 200) =>
    call('PUT', '/conversations/messages/m1/status', { status: to }, httpStatus);
  const inbound = (httpStatus: number | null) =>
    call('POST', '/conversations/messages/inbound', {}, httpStatus);

  it.each([
    [webhook('Hi'), 'Signed request to send'],
    [webhook('Hi', 429), 'Rejected: rate limit exceeded'],
    [webhook('Hi', null), 'No response'],
    [status('pending'), 'Message on its way'],
    [status('delivered'), 'Message delivered'],
    [status('failed'), 'Message failed, with reason'],
    [status('delivered', 500), 'Not accepted, will retry'],
    [inbound(201), 'Message added to the inbox'],
    [inbound(null), 'No response, will retry'],
    [inbound(401), 'Token rejected, needs a refresh'],
    [call('GET', '/conversations/search?contactId=c1', {}), 'Conversation lookup'],
    [call('GET', '/conversations/abc/messages?limit=20', {}), 'Is the message already there?'],
    [frame('send', {}), 'Message to send'],
    [frame('message_status', { status: 'failed' }), 'Mac could not send it'],
    [frame('ack', { outcome: 'delivered' }), 'Accepted by the CRM'],
    [{ ...frame('close', {}), text: '4501 displaced' } as CallOrFrame, 'Displaced by a newer Mac'],
    [{ ...frame('whatever', {}), text: 'not JSON' } as CallOrFrame, ''],
    [call('GET', '/somewhere/else', {}), ''],
  ])('returns the explanation of entry %#', (entry, explanation) => {
    expect(explain(entry)).toBe(explanation);
  });
});
