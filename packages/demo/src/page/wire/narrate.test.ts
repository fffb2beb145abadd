import { makeFooter, makeReaction } from '@footbridge/kit';
import { describe, expect, it } from 'vitest';

import type { Exchange, HttpExchange, Leg } from '../shapes.ts';
import { chapterOf, plainWords } from './narrate.ts';

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

const frame = (type: string, fields: object): Exchange => ({
  kind: 'frame',
  n: 1,
  at: 0,
  leg: 'mac→service',
  type,
  text: JSON.stringify({ type, ...fields }),
});

const webhook = (message: string, status: number | null = 200) =>
  call('POST', '/crm/webhook', { message }, status);
const love = { chatId: 1, target: 'A', kind: 'classic', type: 'love', action: 'add' } as const;

describe('a chapter begins', () => {
  it.each([
    ['a text', webhook('See you'), 'Harbor Bikes writes', 'See you'],
    [
      'its footer is no part of it',
      webhook(makeFooter({ chat_id: 1 }, { text: 'Hi' })),
      'Harbor Bikes writes',
      'Hi',
    ],
    ['a tapback', webhook(makeReaction(love)), 'Harbor Bikes taps back', '❤️'],
    ['a refusal', webhook('Hi', 401), 'Somebody without a valid signature', 'Hi'],
    ['nobody there', webhook('Hi', 404), 'Harbor Bikes writes, nobody is there', 'Hi'],
    ['a reply', frame('message_received', { sender: '+15550', text: 'Yes' }), '+15550 writes', 'Yes'],
    [
      'a voice',
      frame('message_received', { sender: '+1', text: '', voice: {} }),
      '+1 sends a voice message',
      '',
    ],
    [
      'an emoji taken away',
      frame('message_received', { sender: '+1', reaction: { kind: 'emoji', emoji: '🔥', action: 'remove' } }),
      '+1 takes a tapback away',
      '🔥',
    ],
  ])('with %s', (_what, entry, title, quote) => {
    expect(chapterOf(entry, undefined)).toEqual({ title, quote });
  });

  it('with a Mac that connects, not once more after it took its seat', () => {
    const seat = call('POST', '/mac/activate', {});
    expect(chapterOf(seat, undefined)?.title).toBe('A Mac takes its seat');
    expect(chapterOf(frame('register', {}), seat)).toBeUndefined();
    expect(chapterOf(frame('register', {}), undefined)?.title).toBe('The Mac connects');
  });

  it.each([frame('ack', {}), frame('send', {}), call('PUT', '/conversations/messages/m/status', {})])(
    'not with what follows from it',
    (entry) => expect(chapterOf(entry, undefined)).toBeUndefined(),
  );
});

describe('plain words', () => {
  const status = (to: string, answer: number | null = 200) =>
    call('PUT', '/conversations/messages/m1/status', { status: to }, answer);
  const inbound = (answer: number | null) => call('POST', '/conversations/messages/inbound', {}, answer);

  it.each([
    [webhook('Hi'), 'Signed: please send this'],
    [webhook('Hi', 429), 'Refused: wait a minute'],
    [webhook('Hi', null), 'No answer came'],
    [status('pending'), 'It is on its way'],
    [status('delivered'), 'It was delivered'],
    [status('failed'), 'It failed, and why'],
    [status('delivered', 500), 'Not taken: tried again'],
    [inbound(201), 'Into the CRM’s inbox'],
    [inbound(null), 'No answer: asked again'],
    [inbound(401), 'A new token is needed'],
    [frame('send', {}), 'Send this, please'],
    [frame('message_status', { status: 'failed' }), 'It could not be sent'],
    [frame('ack', { outcome: 'delivered' }), 'The CRM has it, forget it'],
    [{ ...frame('close', {}), text: '4501 displaced' } as Exchange, 'A newer Mac took over'],
    [{ ...frame('whatever', {}), text: 'not JSON' } as Exchange, ''],
    [call('GET', '/somewhere/else', {}), ''],
  ])('%#', (entry, words) => {
    expect(plainWords(entry)).toBe(words);
  });
});
