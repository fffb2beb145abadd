import { describe, expect, it } from 'vitest';

import { EFFECTS, findEffect } from './effects.ts';
import { CLASSIC_TYPES } from './metadata.ts';
import { readTapbackCode, stripTargetPrefix, tapbackCode } from './tapbacks.ts';

describe('Tapback codes', () => {
  it('F5 round-trip for every kind and action', () => {
    const kinds = [
      ...CLASSIC_TYPES.map((type) => ({ kind: 'classic', type }) as const),
      { kind: 'emoji' } as const,
      { kind: 'sticker' } as const,
    ];
    const codes = kinds.flatMap((kind) => [tapbackCode(kind, 'add'), tapbackCode(kind, 'remove')]);
    expect(new Set(codes).size).toBe(16);
    for (const kind of kinds) {
      for (const action of ['add', 'remove'] as const) {
        expect(readTapbackCode(tapbackCode(kind, action))).toEqual({ ...kind, action });
      }
    }
    expect(tapbackCode({ kind: 'classic', type: 'love' }, 'add')).toBe(2000);
    expect(tapbackCode({ kind: 'classic', type: 'question' }, 'remove')).toBe(3005);
  });

  it.each([0, 2, 3, 999, 1001, 1999, 2008, 2999, 3008, 4000])('%i is not a reaction', (code) => {
    expect(readTapbackCode(code)).toBeUndefined();
  });

  it('F5 include a sticker placed on a bubble', () => {
    expect(readTapbackCode(1000)).toEqual({ kind: 'sticker', action: 'add' });
  });

  it.each([
    ['p:0/GUID', 'GUID'],
    ['p:12/GUID', 'GUID'],
    ['bp:GUID', 'GUID'],
    ['GUID', 'GUID'],
    ['p:x/GUID', 'p:x/GUID'],
  ])('F5 %s targets %s', (raw, target) => {
    expect(stripTargetPrefix(raw)).toBe(target);
  });
});

describe('effects', () => {
  it('are found by name, id and alias', () => {
    for (const effect of EFFECTS) {
      for (const name of [effect.name, effect.id, ...effect.aliases, effect.name.toUpperCase()]) {
        expect(findEffect(name)).toBe(effect);
      }
    }
    expect(findEffect('Shooting Star')?.name).toBe('shooting_star');
    expect(findEffect('constructor')).toBeUndefined();
  });
});
