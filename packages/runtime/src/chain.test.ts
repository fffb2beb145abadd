import fc from 'fast-check';
import { expect, it } from 'vitest';

import { Chain } from './chain.ts';
import type { Link } from './chain.ts';

it('keeps its values in the order they were added, and each link removes its own value, once', () => {
  fc.assert(
    fc.property(fc.array(fc.option(fc.nat(20), { nil: undefined })), (operations) => {
      const chain = new Chain<number>();
      const added: { readonly link: Link<number>; readonly value: number }[] = [];
      let expected: number[] = [];
      for (const [value, removed] of operations.entries()) {
        const old = removed === undefined ? undefined : added[removed];
        if (old === undefined) {
          added.push({ link: chain.add(value), value });
          expected.push(value);
        } else {
          old.link.remove();
          expected = expected.filter((one) => one !== old.value);
          expect(old.link.value).toBeUndefined();
        }
        expect(chain.values).toEqual(expected);
        expect(chain.oldest).toBe(expected[0]);
      }
    }),
  );
});
