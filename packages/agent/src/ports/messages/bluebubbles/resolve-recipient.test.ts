import { describe, expect, it } from 'vitest';

import type { Chat, Destination, MessageStore, ServiceName } from '../messages.ts';
import { resolveRecipient } from './resolve-recipient.ts';

const ANNA = '+15550100001';
const BERT = '+15550100002';

function chatWith(key: string, services: [ServiceName, ...ServiceName[]], recipients = [ANNA]): Chat {
  return { id: 1, key, isGroup: recipients.length > 1, recipients, service: services[0], services };
}

/** Resolves with a store that has this chat only. */
function resolve(destination: Destination, chat?: Chat | 'ambiguous'): unknown {
  const direct = chat === 'ambiguous' ? undefined : chat;
  const store: Partial<MessageStore> = { chat: () => direct, directChat: () => direct, groupOf: () => chat };
  return resolveRecipient(destination, store as MessageStore);
}

const person = (service: ServiceName): Destination => ({ to: 'person', handle: ANNA, service });

describe('the recipient for a person', () => {
  it.each<[string, [ServiceName, ...ServiceName[]], ServiceName]>([
    [`iMessage;-;${ANNA}`, ['iMessage'], 'iMessage'],
    [`SMS;-;${ANNA}`, ['SMS'], 'SMS'],
    [`any;-;${ANNA}`, ['iMessage'], 'iMessage'],
    [`any;-;${ANNA}`, ['SMS', 'iMessage'], 'iMessage'],
    [`any;-;${ANNA}`, ['SMS'], 'SMS'],
  ])('is the chat %s with %s for %s', (key, services, service) => {
    expect(resolve(person(service), chatWith(key, services))).toEqual({ chatGuid: key, service });
  });

  it.each<[string, [ServiceName, ...ServiceName[]], ServiceName]>([
    [`iMessage;-;${ANNA}`, ['iMessage'], 'SMS'],
    [`SMS;-;${ANNA}`, ['SMS'], 'iMessage'],
    [`any;-;${ANNA}`, ['iMessage'], 'SMS'],
    [`any;-;${ANNA}`, ['iMessage', 'SMS'], 'SMS'],
    [`any;-;${ANNA}`, ['SMS'], 'iMessage'],
  ])('is the number when the chat %s with %s does not select %s', (key, services, service) => {
    expect(resolve(person(service), chatWith(key, services))).toEqual({ addresses: [ANNA], service });
  });

  it('is the number when there is no chat, but not for RCS', () => {
    expect(resolve(person('iMessage'))).toEqual({ addresses: [ANNA], service: 'iMessage' });
    expect(resolve(person('RCS'))).toMatchObject({ state: 'failed' });
  });
});

describe('the recipient for a chat', () => {
  it.each<[string, ServiceName]>([
    [`any;-;${ANNA}`, 'RCS'],
    [`any;-;${ANNA}`, 'SMS'],
    [`SMS;-;${ANNA}`, 'SMS'],
  ])('is its GUID: %s, %s', (key, service) => {
    expect(resolve({ to: 'chat', chatId: 1 }, chatWith(key, [service]))).toEqual({ chatGuid: key, service });
  });
});

describe('the recipient for a group', () => {
  const group: Destination = { to: 'group', recipients: [ANNA, BERT], service: 'iMessage' };

  it('is its GUID, or the recipients of a new group', () => {
    const key = 'any;+;chat123';
    expect(resolve(group, chatWith(key, ['iMessage'], [ANNA, BERT]))).toMatchObject({ chatGuid: key });
    expect(resolve(group)).toEqual({ addresses: [ANNA, BERT], service: 'iMessage' });
  });

  it('is never one of several groups with the same recipients', () => {
    expect(resolve(group, 'ambiguous')).toMatchObject({ code: 'IMESSAGE_GROUP_INVALID_RECIPIENTS' });
  });
});
