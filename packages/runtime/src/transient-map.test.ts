import fc from 'fast-check';
import { expect, it } from 'vitest';

import { TransientMap } from './transient-map.ts';

const operation = fc.record({ key: fc.nat(5), value: fc.option(fc.nat(), { nil: undefined }) });

it('a TransientMap behaves like a Map', () => {
  fc.assert(
    fc.property(fc.array(operation), (operations) => {
      const map = new TransientMap<number, number>();
      const model = new Map<number, number>();
      for (const { key, value } of operations) {
        if (value === undefined) expect(map.delete(key)).toBe(model.delete(key));
        else {
          map.set(key, value);
          model.set(key, value);
        }
        expect(map.get(key)).toBe(model.get(key));
        expect([...map.values()]).toEqual([...model.values()]);
      }
    }),
  );
});
