import { asLocationId } from '@footbridge/protocol/ids';
import { createLog } from '@footbridge/runtime/log';
import { FakeClock } from '@footbridge/testkit/fake-clock';
import { expect, it } from 'vitest';

import { lookUpPhone } from './look-up-phone.ts';

it('W7 a lookup that throws is logged and gives no phone', async () => {
  const lines: string[] = [];
  const phone = await lookUpPhone(asLocationId('locA1') ?? expect.fail('not a location'), 'contact1', {
    contacts: { lookUp: () => Promise.reject(new Error('database closed')) },
    clock: new FakeClock(),
    log: createLog('debug', { destination: { write: (line) => void lines.push(line) } }),
  });
  expect(phone).toBeUndefined();
  expect(lines.join('')).toContain('webhook.phone_lookup_failed');
});
