import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { sodium } from '../../sodium.ts';
import { createBusCipher } from './bus.ts';
import type { BusMessage } from './bus.ts';

const SECRET = 'a secret of the nodes, long enough';
const ours = createBusCipher(SECRET);
/** As on a platform for which libsodium has no binary. */
const openssl = createBusCipher(SECRET, null);

const message = (id: string): BusMessage => ({ type: 'answer', id, outcome: 'written' });

describe('what nodes say to each other', () => {
  it('is read by either engine, whichever sealed it', () => {
    expect(sodium).not.toBeNull();
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme', maxLength: 700 }), (id) => {
        for (const sealer of [ours, openssl])
          for (const opener of [ours, openssl])
            expect(opener.open(sealer.seal(message(id)))).toEqual(message(id));
      }),
    );
  });

  it('is nothing when any of its bits is another, or the secret', () => {
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

  it('never looks the same twice', () => {
    const seen = new Set(Array.from({ length: 1000 }, () => ours.seal(message('one')).toString('base64')));
    expect(seen.size).toBe(1000);
  });
});
