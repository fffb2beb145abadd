import { describe, expect, it } from 'vitest';

import { messageOutcome } from './message-outcome.ts';

const outbound = (status: string, code: string | null = null) =>
  ({ direction: 'outbound', locationId: 'loc1', status, code }) as const;
const inbound = (status: string, code: string | null = null) =>
  ({ direction: 'inbound', locationId: 'loc1', status, code }) as const;

describe('the outcome of a message', () => {
  it.each([
    [[outbound('delivered')], 'delivered', 'Delivered.'],
    [
      [outbound('delivered'), outbound('rejected', 'LOCATION_NOT_CONNECTED'), outbound('failed', 'TIMEOUT')],
      'delivered',
      'Delivered, request 1 of 3.',
    ],
    [
      [outbound('rejected', 'LOCATION_NOT_CONNECTED'), outbound('delivered')],
      'delivered',
      'Delivered, request 2 of 2.',
    ],
    [
      [outbound('written'), outbound('rejected', 'LOCATION_NOT_CONNECTED')],
      'unknown',
      'Not known yet: the Mac has not reported the outcome, request 1 of 2.',
    ],
    [[outbound('pending')], 'unknown', 'Not known yet: the Mac has not reported the outcome.'],
    [[outbound('failed', 'TIMEOUT')], 'not_delivered', 'Not delivered: failed with TIMEOUT.'],
    [
      [outbound('failed', 'TIMEOUT'), outbound('rejected', 'LOCATION_NOT_CONNECTED')],
      'not_delivered',
      'Not delivered: rejected by the service with LOCATION_NOT_CONNECTED, request 2 of 2.',
    ],
    [[inbound('delivered')], 'delivered', 'Delivered: the CRM has it.'],
    [[inbound('delivered', 'UNCERTAIN')], 'delivered', 'Delivered: the CRM has it, perhaps twice.'],
    [[inbound('received')], 'unknown', 'Not in the CRM yet: the Mac keeps it until the CRM has accepted it.'],
    [
      [inbound('received', 'NO_TOKEN')],
      'unknown',
      'Not in the CRM yet: loc1 has no token. Install the app in the location. Without OAuth, set CRM_PIT_TOKENS.',
    ],
    [[inbound('undeliverable', 'NO_CONTACT')], 'not_delivered', 'Not in the CRM: undeliverable, NO_CONTACT.'],
  ])('of %j is %s', (requests, outcome, sentence) => {
    expect(messageOutcome(requests)).toEqual({ outcome, sentence });
  });
});
