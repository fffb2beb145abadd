import { writeFooter } from '@footbridge/protocol/footer';
import { describe, expect, it } from 'vitest';

import type { StoredMessage } from './conversation-calls.ts';
import { isBefore, isMatch } from './match-message.ts';
import type { LostMessage } from './match-message.ts';

const CLAIMED_AT = Date.UTC(2026, 0, 1);
const FILES = ['https://x.example/a.png', 'https://x.example/b.png'];

const lost = (more: Partial<LostMessage> = {}): LostMessage => ({
  locationId: 'loc',
  guid: 'g1',
  sender: '+14155550100',
  contactId: 'c1',
  text: 'hello',
  attachments: [],
  mayHaveCopies: false,
  claimedAt: CLAIMED_AT,
  maxClockStepMs: 0,
  direction: 'inbound',
  ...more,
});
const stored = (more: Partial<StoredMessage> = {}): StoredMessage => ({
  id: 'm1',
  isInbound: true,
  text: 'hello',
  attachments: [],
  addedAt: CLAIMED_AT,
  ...more,
});
const withFooter = (guid: string) => writeFooter('hello', { message_guid: guid, is_group: true });

describe('I9 a message of the CRM', () => {
  it.each<[string, boolean, Partial<LostMessage>, Partial<StoredMessage>]>([
    ['has the same text', true, {}, {}],
    ['has another text', false, {}, { text: 'hello!' }],
    ['has the text in another case', false, {}, { text: 'Hello' }],
    ['has the text without white space around it', true, { text: ' hello \n' }, {}],
    ['has other line breaks', true, { text: 'a\r\nb\n\nc' }, { text: 'a\nb\n\nc' }],
    ['has no white space at the end of lines', true, { text: 'a \nb\t\nc' }, { text: 'a\nb\nc' }],
    ['has white space where the lost one has none', false, { text: 'ab' }, { text: 'a b' }],
    ['has composed characters', true, { text: 'cafe\u0301' }, { text: 'caf\u00E9' }],
    ['went the other way', false, {}, { isInbound: false }],
    ['is a little older', true, {}, { addedAt: CLAIMED_AT - 5000 }],
    ['is older', false, {}, { addedAt: CLAIMED_AT - 5001 }],
    ['is newer', true, {}, { addedAt: CLAIMED_AT + 86_400_000 }],
    ['has the same files', true, { attachments: FILES }, { attachments: [...FILES] }],
    ['has fewer files', false, { attachments: FILES }, { attachments: FILES.slice(1) }],
    ['has its files in another order', false, { attachments: FILES }, { attachments: FILES.toReversed() }],
    ['has files, the lost one none', false, {}, { attachments: FILES }],
    [
      'has copies of the files',
      true,
      { attachments: FILES, mayHaveCopies: true },
      { attachments: ['https://crm.example/1', 'https://crm.example/2'] },
    ],
    [
      'has a copy too few',
      false,
      { attachments: FILES, mayHaveCopies: true },
      { attachments: ['https://x'] },
    ],
    ['has its footer', true, { text: withFooter('g1') }, { text: withFooter('g1') }],
    [
      "has the footer's GUID and nothing else",
      true,
      {},
      { text: withFooter('g1'), attachments: FILES, addedAt: 0 },
    ],
    ['has its footer and went the other way', false, {}, { text: withFooter('g1'), isInbound: false }],
    ['has the footer of another message', false, { text: withFooter('g1') }, { text: withFooter('g2') }],
    ['was typed by the owner too', true, { direction: 'outbound' }, { isInbound: false }],
    ['came from the customer', false, { direction: 'outbound' }, {}],
    ['has no footer, the lost one has', false, { text: withFooter('g1') }, {}],
  ])('a message that %s is the lost one: %s', (_name, expected, ours, theirs) => {
    expect(isMatch(lost(ours), stored(theirs))).toBe(expected);
  });

  it('a message is from before the lost one by the time of the claim', () => {
    expect(isBefore(lost(), stored({ addedAt: CLAIMED_AT - 5001 }))).toBe(true);
    expect(isBefore(lost(), stored({ addedAt: CLAIMED_AT - 5000 }))).toBe(false);
  });
});
