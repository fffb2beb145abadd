import { expect, it } from 'vitest';

import type { MessageTrail } from '../../relay/journal/journal.ts';
import { slowestHops } from './hops.ts';

type Steps = MessageTrail['steps'];

const outbound = (macMs: number): { direction: 'outbound'; steps: Steps } => ({
  direction: 'outbound',
  steps: [
    { at: 0, step: 'accepted', detail: null },
    { at: 3, step: 'written', detail: null },
    { at: 13, step: 'status_sent', detail: { status: 'pending' } },
    { at: 3 + macMs, step: 'mac_reported', detail: null },
    { at: 23 + macMs, step: 'status_sent', detail: { status: 'delivered' } },
  ],
});

it('returns the 95th percentile of each hop, the slowest first', () => {
  const messages = Array.from({ length: 100 }, (_, index) => outbound((index + 1) * 10));
  expect(slowestHops(messages)).toEqual([
    { name: 'mac', messages: 100, p95Ms: 950 },
    { name: 'outcome', messages: 100, p95Ms: 20 },
    { name: 'pending', messages: 100, p95Ms: 10 },
    { name: 'accept', messages: 100, p95Ms: 3 },
  ]);
});

it('leaves out hops that no message has completed', () => {
  const received: Steps = [{ at: 0, step: 'received', detail: null }];
  expect(slowestHops([{ direction: 'inbound', steps: received }])).toEqual([]);
  expect(
    slowestHops([
      { direction: 'inbound', steps: [...received, { at: 40, step: 'crm_accepted', detail: null }] },
    ]),
  ).toEqual([{ name: 'inbound', messages: 1, p95Ms: 40 }]);
});
