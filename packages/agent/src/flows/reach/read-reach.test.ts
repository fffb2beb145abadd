import { describe, expect, it } from 'vitest';

import { StoreUnavailableError } from '../../ports/messages/messages.ts';
import type { MessageStore, SendState, ServiceName, StoredRow } from '../../ports/messages/messages.ts';
import { TEXT_ROW } from '../../ports/messages/stored-row.fixture.ts';
import { readReach } from './read-reach.ts';

type Sent = Partial<SendState> & { readonly service: ServiceName };

/** A store with messages to one person, the newest first. */
function storeOf(sent: readonly Sent[]): Pick<MessageStore, 'history' | 'sendState'> {
  return {
    history: () => sent.map(({ service }, index) => rowOf(String(index), service)),
    sendState: (guid) => ({
      guid,
      finished: true,
      sent: true,
      delivered: false,
      error: 0,
      ...sent[Number(guid)],
    }),
  };
}

const rowOf = (guid: string, service: ServiceName): StoredRow => ({
  ...TEXT_ROW,
  guid,
  service,
  fromMe: true,
  sender: undefined,
});

const DELIVERED: Sent = { service: 'iMessage', delivered: true };
const UNCONFIRMED: Sent = { service: 'iMessage' };
const NOT_REGISTERED: Sent = { service: 'iMessage', sent: false, error: 22 };
const FAILED: Sent = { service: 'iMessage', sent: false, error: 4 };
const SMS: Sent = { service: 'SMS' };

describe('readReach', () => {
  it.each<[string, readonly Sent[], string]>([
    ['a delivered iMessage', [DELIVERED, SMS], 'iMessage'],
    ['a sent SMS', [SMS, DELIVERED], 'SMS'],
    ['a sent RCS message', [{ service: 'RCS' }], 'SMS'],
    ['an iMessage to a number that is not on iMessage', [NOT_REGISTERED, DELIVERED], 'SMS'],
    ['the message before a failed one', [FAILED, DELIVERED], 'iMessage'],
    ['the message before one without a receipt', [UNCONFIRMED, SMS], 'SMS'],
    ['the message before a failed SMS', [{ ...SMS, sent: false, error: 4 }, DELIVERED], 'iMessage'],
    ['only iMessages without a receipt', [UNCONFIRMED, FAILED], 'unknown'],
    ['no message', [], 'unknown'],
  ])('goes by %s', (_, sent, reach) => {
    expect(readReach('+15550100001', storeOf(sent)).reach).toBe(reach);
  });

  it('returns unknown when the store cannot be read', () => {
    const history = () => {
      throw new StoreUnavailableError('locked');
    };
    expect(readReach('+15550100001', { ...storeOf([]), history })).toMatchObject({
      reach: 'unknown',
      reason: expect.stringContaining('locked'),
    });
  });
});
