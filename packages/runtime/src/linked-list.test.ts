import fc from 'fast-check';
import { expect, it } from 'vitest';

import { LinkedList } from './linked-list.ts';
import type { ListNode } from './linked-list.ts';

it('a linked list keeps insertion order, and each node removes only its own value', () => {
  fc.assert(
    fc.property(fc.array(fc.option(fc.nat(20), { nil: undefined })), (operations) => {
      const list = new LinkedList<number>();
      const added: { readonly node: ListNode<number>; readonly value: number }[] = [];
      let expected: number[] = [];
      for (const [value, removedIndex] of operations.entries()) {
        const old = removedIndex === undefined ? undefined : added[removedIndex];
        if (old === undefined) {
          added.push({ node: list.add(value), value });
          expected.push(value);
        } else {
          old.node.remove();
          expected = expected.filter((kept) => kept !== old.value);
          expect(old.node.value).toBeUndefined();
        }
        expect(list.toArray()).toEqual(expected);
        expect(list.oldest).toBe(expected[0]);
      }
    }),
  );
});
