import { makeFooter, makeReaction } from '@footbridge/kit';
import { describe, expect, it } from 'vitest';

import type { Inbox, SentWebhook } from '../types.ts';
import { outcomeOf, toThreads } from './threads.ts';

const ABOUT = { locationId: 'locDEMO1' };

const inbound = (messageId: string, message: string, more: object = {}): Inbox['messages'][number] => ({
  messageId,
  contactId: 'anna',
  locationId: 'locDEMO1',
  message,
  attachments: [],
  at: Number(messageId.replaceAll(/\D/g, '')),
  ...more,
});

const outbound = (messageId: string, message: string, more: object = {}): SentWebhook => ({
  messageId,
  body: JSON.stringify({ locationId: 'locDEMO1', contactId: 'anna', message }),
  at: Number(messageId.replaceAll(/\D/g, '')),
  status: 200,
  ...more,
});

const threadsOf = (inbox: Partial<Inbox>) =>
  toThreads({ messages: [], statuses: [], webhooks: [], ...inbox }, ABOUT);

describe('toThreads', () => {
  it('sorts both directions of a conversation by time and removes footers', () => {
    const [thread, ...others] = threadsOf({
      messages: [inbound('i2', makeFooter({ chat_id: 7, message_guid: 'g-2' }, { text: 'second' }))],
      webhooks: [outbound('m1', 'first'), outbound('m3', 'third')],
    });
    expect(others).toEqual([]);
    expect(thread?.items.map(({ text, direction }) => [text, direction])).toEqual([
      ['first', 'out'],
      ['second', 'in'],
      ['third', 'out'],
    ]);
    expect(thread).toMatchObject({ chatId: 7, isGroup: false });
  });

  it('separates the messages of a group from one-to-one messages, in both directions', () => {
    const group = { chat_id: 9, is_group: true, recipients: ['anna', 'ben'] };
    const threads = threadsOf({
      messages: [
        inbound('i1', 'alone'),
        inbound('i2', makeFooter(group, { text: 'together' })),
        inbound('i3', makeFooter(group, { text: 'me too' }), { contactId: 'ben' }),
      ],
      webhooks: [outbound('m4', makeFooter(group, { text: 'hello both' }))],
    });
    expect(threads.map(({ isGroup, items }) => [isGroup, items.map(({ text }) => text)])).toEqual([
      [false, ['alone']],
      [true, ['together', 'me too', 'hello both']],
    ]);
  });

  it('omits messages of another location', () => {
    const body = JSON.stringify({ locationId: 'locFLOOD', contactId: 'anna', message: 'flood' });
    expect(threadsOf({ webhooks: [outbound('m1', '', { body })] })).toEqual([]);
  });

  it('shows a reaction by the agent only after it was delivered', () => {
    const message = makeReaction({ chatId: 7, target: 'g-1', kind: 'classic', type: 'love' });
    const inbox = {
      messages: [inbound('i1', makeFooter({ chat_id: 7, message_guid: 'g-1' }, { text: 'tap me' }))],
      webhooks: [outbound('m2', message)],
    };
    const status = (name: string) => ({ messageId: 'm2', status: name, accepted: true, acceptedAs: 1 });
    expect(threadsOf(inbox)[0]?.items[0]?.reactions).toEqual([]);
    expect(threadsOf({ ...inbox, statuses: [status('failed')] })[0]?.items[0]?.reactions).toEqual([]);
    expect(threadsOf({ ...inbox, statuses: [status('delivered')] })[0]?.items[0]?.reactions).toEqual([
      { sender: 'us', kind: 'classic', type: 'love' },
    ]);
  });

  it('learns the GUID of a message by the agent from its delivered status', () => {
    const status = {
      messageId: 'm1',
      status: 'delivered',
      accepted: true,
      acceptedAs: 1,
      messageGuid: 'g-1',
    };
    const guidOf = (more: object) =>
      threadsOf({ webhooks: [outbound('m1', 'tap me')], statuses: [{ ...status, ...more }] })[0]?.items[0]
        ?.guid;
    expect(guidOf({})).toBe('g-1');
    expect(guidOf({ accepted: false })).toBeUndefined();
  });

  it('shows a reaction by the customer on a message by the agent', () => {
    const reaction = { kind: 'emoji', action: 'add', target_message_guid: 'g-1', emoji: '🎉' } as const;
    const [thread] = threadsOf({
      messages: [inbound('i2', makeFooter({ chat_id: 7, sender: '+1', message_guid: 'g-2', reaction }))],
      webhooks: [outbound('m1', 'hi')],
      statuses: [{ messageId: 'm1', status: 'delivered', accepted: true, messageGuid: 'g-1' }],
    });
    expect(thread?.items[0]?.reactions).toEqual([{ sender: '+1', kind: 'emoji', emoji: '🎉' }]);
  });
});

describe('outcomeOf', () => {
  const call = (status: string, acceptedAs: number, error?: object) => ({
    messageId: 'm1',
    status,
    accepted: true,
    acceptedAs,
    ...(error && { error }),
  });

  it.each([
    ['sending', []],
    ['pending', [call('pending', 1)]],
    ['delivered', [call('delivered', 2), call('pending', 1)]],
    ['delivered', [call('delivered', 1), call('pending', 2)]],
  ])('is %s', (state, statuses) => {
    expect(outcomeOf(outbound('m1', 'x'), statuses)).toEqual({ state });
  });

  it('ignores statuses that the CRM did not accept', () => {
    const notAccepted = { ...call('delivered', 1), accepted: false };
    expect(outcomeOf(outbound('m1', 'x'), [notAccepted])).toEqual({ state: 'sending' });
  });

  it('includes the reason and the advice for a failed message', () => {
    const error = { code: 'RATE_LIMITED', message: 'the queue is full' };
    expect(outcomeOf(outbound('m1', 'x'), [call('failed', 1, error)])).toMatchObject({
      state: 'failed',
      code: 'RATE_LIMITED',
      reason: 'the queue is full',
      advice: expect.stringContaining('30 seconds'),
    });
  });

  it('is rejected if the webhook was rejected or got no response', () => {
    const answer = { code: 'LOCATION_NOT_CONNECTED', message: 'no Mac' };
    expect(outcomeOf(outbound('m1', 'x', { status: 404, answer }), [])).toMatchObject({
      state: 'rejected',
      code: 'LOCATION_NOT_CONNECTED',
      reason: 'no Mac',
    });
    const { status: _none, ...unanswered } = outbound('m1', 'x', { error: 'connection reset' });
    expect(outcomeOf(unanswered, [])).toEqual({ state: 'rejected', reason: 'connection reset' });
  });
});
