import { describe, expect, it } from 'vitest';

import { localTime } from '../format-time.ts';
import { formatHistory } from './show.ts';

const request = (more: object) => ({
  id: 'r1',
  direction: 'outbound' as const,
  locationId: 'loc1',
  messageId: 'm1',
  messageGuid: null,
  kind: 'text',
  phone: '+1•••0100',
  length: 5,
  status: 'delivered',
  code: null,
  createdAt: '2026-11-15T12:00:00.000',
  updatedAt: '2026-11-15T12:00:01.000',
  steps: [{ at: '2026-11-15T12:00:00.000', step: 'accepted', detail: null }],
  text: null,
  ...more,
});

describe('footbridge show on a terminal', () => {
  it('prints the outcome, every request oldest first, and the meaning of each code', () => {
    const repeat = request({ id: 'r2', status: 'rejected', code: 'LOCATION_NOT_CONNECTED' });
    const text = formatHistory(
      { ...repeat, capturedUntil: null, requests: [request({}), repeat] },
      'Delivered, request 1 of 2.',
    );
    expect(text.split('\n').map((line) => line.replace(/^ {2}[\d:.]{12} {2}/, '  TIME  '))).toEqual([
      'm1  → outbound  loc1  text 5 chars  +1•••0100',
      'Delivered, request 1 of 2.',
      '',
      `Request 1 of 2  ${localTime('2026-11-15T12:00:00.000')}  id r1`,
      '  TIME  accepted',
      '  delivered',
      '',
      `Request 2 of 2  ${localTime('2026-11-15T12:00:00.000')}  id r2`,
      '  TIME  accepted',
      '  rejected LOCATION_NOT_CONNECTED',
      '',
      expect.stringMatching(/^LOCATION_NOT_CONNECTED/),
      expect.stringMatching(/^Meaning/),
      expect.stringMatching(/^Retry/),
      expect.stringMatching(/^Advice/),
    ]);
  });
});
