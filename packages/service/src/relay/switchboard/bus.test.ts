import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { sodium } from '../../platform/sodium.ts';
import { createBusCipher } from './bus.ts';
import type { BusMessage } from './bus.ts';

const SECRET = 'a secret that all nodes share';
const ours = createBusCipher(SECRET);
/** As on a platform for which libsodium has no binary. */
const openssl = createBusCipher(SECRET, { library: null });

const message = (id: string): BusMessage => ({ type: 'write_result', id, result: 'written' });

describe('the bus cipher', () => {
  it('opens a message of either engine with either engine', () => {
    expect(sodium).not.toBeNull();
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme', maxLength: 700 }), (id) => {
        for (const sealer of [ours, openssl])
          for (const opener of [ours, openssl])
            expect(opener.open(sealer.seal(message(id)))).toEqual(message(id));
      }),
    );
  });

  it('the cipher does not open a message with a flipped bit, a missing end or another secret', () => {
    const foreign = createBusCipher('another secret of other nodes');
    for (const opener of [ours, openssl]) {
      const sealed = ours.seal(message('one'));
      for (let bit = 0; bit < sealed.length * 8; bit++) {
        const forged = Buffer.from(sealed);
        forged[bit >> 3] = (forged[bit >> 3] ?? 0) ^ (1 << (bit & 7));
        expect(opener.open(forged)).toBeUndefined();
      }
      for (let length = 0; length < sealed.length; length++)
        expect(opener.open(sealed.subarray(0, length))).toBeUndefined();
      expect(opener.open(foreign.seal(message('one')))).toBeUndefined();
    }
  });

  it('the cipher never seals the same message to the same bytes', () => {
    const seen = new Set(Array.from({ length: 1000 }, () => ours.seal(message('one')).toString('base64')));
    expect(seen.size).toBe(1000);
  });
});
