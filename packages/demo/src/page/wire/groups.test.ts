import { makeFooter } from '@footbridge/kit';
import { beforeEach, describe, expect, it } from 'vitest';

import type { CallOrFrame, Leg, ProcessEvent } from '../types.ts';
import { groupByMessage, joinEqual } from './groups.ts';

let n = 0;
beforeEach(() => (n = 0));

const frame = (type: string, fields: object, link = 1, leg: Leg = 'mac→service'): CallOrFrame => ({
  kind: 'frame',
  n: ++n,
  at: n,
  leg,
  link,
  type,
  text: JSON.stringify({ type, ...fields }),
});

const received = (guid: string, seq: number, more: { link?: number; attachments?: string[] } = {}) =>
  frame(
    'message_received',
    { guid, seq, text: more.attachments ? '' : guid, sender: '+1', attachments: more.attachments },
    more.link ?? 1,
  );

const ack = (seq: number, link = 1) => frame('ack', { seq }, link, 'service→mac');

function call(method: string, path: string, body: object, more: { answer?: object; status?: number } = {}) {
  const requestBody = JSON.stringify(body);
  const leg: Leg = path.startsWith('/crm/')
    ? 'crm→service'
    : path.startsWith('/mac/')
      ? 'mac→service'
      : 'service→crm';
  return {
    kind: 'http',
    n: ++n,
    at: n,
    leg,
    method,
    path,
    requestHeaders: [],
    requestBody,
    requestBytes: requestBody.length,
    status: more.status ?? 200,
    answerHeaders: [],
    answerBody: JSON.stringify(more.answer ?? {}),
    answerBytes: 0,
    ms: 1,
  } satisfies CallOrFrame;
}

const inbound = (guid: string, status = 201) =>
  call(
    'POST',
    '/conversations/messages/inbound',
    { message: makeFooter({ message_guid: guid }, { text: guid }) },
    { status },
  );
const status = (id: string) => call('PUT', `/conversations/messages/${id}/status`, { status: 'pending' });
const kill = (): ProcessEvent => ({ kind: 'event', n: ++n, at: n, tone: 'bad', title: 'kill -9', text: '' });

/** The numbers of the rows of each group; an event is its title. */
const rows = (items: ReturnType<typeof groupByMessage>) =>
  items.map((item) => ('rows' in item ? item.rows.map((row) => row.n) : item.title));

describe('groupByMessage', () => {
  it('groups two overlapping messages from a Mac', () => {
    const entries = [received('A', 1), received('B', 2), inbound('A'), ack(1), inbound('B'), ack(2)];
    expect(rows(groupByMessage(entries))).toEqual([
      [1, 3, 4],
      [2, 5, 6],
    ]);
  });

  it('groups two overlapping messages from the CRM', () => {
    const entries = [
      call('POST', '/crm/webhook', { messageId: 'm1', message: 'one' }),
      call('POST', '/crm/webhook', { messageId: 'm2', message: 'two' }),
      frame('send', { messageId: 'm1', requestId: 'r1' }, 1, 'service→mac'),
      status('m2'),
      frame('message_status', { messageId: 'm1', requestId: 'r1', seq: 1, status: 'delivered' }),
      frame('message_status', { messageId: 'm2', requestId: 'r2', seq: 2, status: 'delivered' }),
      ack(2),
      status('m1'),
      ack(1),
    ];
    expect(rows(groupByMessage(entries))).toEqual([
      [1, 3, 5, 8, 9],
      [2, 4, 6, 7],
    ]);
  });

  it('groups a message without an id by its request', () => {
    const entries = [
      call('POST', '/crm/webhook', { message: 'one' }, { answer: { requestId: 'r1' } }),
      received('A', 1),
      frame('send', { messageId: null, requestId: 'r1' }, 1, 'service→mac'),
    ];
    expect(rows(groupByMessage(entries))).toEqual([[1, 3], [2]]);
  });

  it('separates the same sequence number on two connections', () => {
    const entries = [received('A', 1), received('B', 1, { link: 2 }), ack(1, 2), ack(1)];
    expect(rows(groupByMessage(entries))).toEqual([
      [1, 4],
      [2, 3],
    ]);
  });

  it('adds an upload to the message that contains the file', () => {
    const upload = (url: string) => call('POST', '/mac/assets', {}, { answer: { url } });
    const entries = [
      upload('http://a'),
      received('A', 1),
      received('B', 2, { attachments: ['http://a'] }),
      upload('http://x'),
    ];
    expect(rows(groupByMessage(entries))).toEqual([[1, 3], [2], [4]]);
    expect(groupByMessage(entries).map((item) => 'heading' in item && item.heading.title)).toEqual([
      '+1 sends a file',
      '+1 sends a message',
      'The Mac uploads a file',
    ]);
  });

  it('adds lookups and a refreshed token to the message that needs them', () => {
    const entries = [
      received('A', 1),
      call('GET', '/contacts/search/duplicate?locationId=l&number=%2B1', {}),
      inbound('A', 401),
      call('POST', '/oauth/token', {}),
      inbound('A'),
      call('GET', '/conversations/search?contactId=c', {}),
      ack(1),
      call('POST', '/oauth/token', {}),
    ];
    expect(rows(groupByMessage(entries))).toEqual([[1, 2, 3, 4, 5, 6, 7], [8]]);
  });

  it('groups an activation with the connection that follows it, and a takeover apart', () => {
    const entries = [
      call('POST', '/mac/activate', {}),
      frame('register', {}),
      frame('registered', {}, 1, 'service→mac'),
      frame('register', {}, 2),
      { ...frame('close', {}, 1, 'service→mac'), text: '4501 another Mac' } as CallOrFrame,
    ];
    expect(rows(groupByMessage(entries))).toEqual([[1, 2, 3], [4], [5]]);
  });

  it('continues a message after a kill in a second group with the same heading', () => {
    const entries = [received('A', 1), received('B', 2), kill(), inbound('A'), ack(1)];
    const items = groupByMessage(entries);
    expect(rows(items)).toEqual([[1], [2], 'kill -9', [4, 5]]);
    expect(items[3]).toMatchObject({ heading: { title: '+1 sends a message', quote: 'A' } });
  });

  it('has a heading for rows whose first row is no longer recorded', () => {
    expect(groupByMessage([status('m1')])).toMatchObject([{ heading: { title: 'Earlier traffic' } }]);
  });
});

describe('joinEqual', () => {
  it('joins consecutive groups with the same heading, but not across an event', () => {
    const webhook = (id: string, message: string) => call('POST', '/crm/webhook', { messageId: id, message });
    const entries = [
      webhook('m1', 'same'),
      webhook('m2', 'same'),
      webhook('m3', 'other'),
      kill(),
      webhook('m4', 'other'),
    ];
    const bursts = joinEqual(groupByMessage(entries));
    expect(bursts.map((burst) => ('groups' in burst ? burst.groups.length : burst.title))).toEqual([
      2,
      1,
      'kill -9',
      1,
    ]);
  });
});
