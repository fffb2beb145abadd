import { randomBytes } from 'node:crypto';

import { ANY_CHARACTER } from '@footbridge/testkit/any-character';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { createVault } from './vault.ts';

const place = fc.record({
  kind: fc.constantFrom('location', 'company', 'private'),
  owner: fc.string({ unit: ANY_CHARACTER, minLength: 1 }).filter((text) => text.isWellFormed()),
  field: fc.constantFrom('access_token', 'refresh_token'),
});
const secret = fc.string({ unit: 'grapheme' });
const key = randomBytes(32);

describe('the vault', () => {
  it('O6 opens a secret only at the place it was sealed for', () => {
    const vault = createVault([key]);
    fc.assert(
      fc.property(secret, place, place, (text, here, there) => {
        const sealed = vault.seal(text, here);
        expect(vault.open(sealed, here)).toBe(text);
        const same = here.kind === there.kind && here.owner === there.owner && here.field === there.field;
        expect(vault.open(sealed, there)).toBe(same ? text : undefined);
      }),
    );
  });

  it('O6 hides the secret and never produces the same ciphertext twice', () => {
    const vault = createVault([key]);
    const at = { kind: 'location', owner: 'loc', field: 'access_token' };
    const sealed = Array.from({ length: 100 }, () => vault.seal('a-token-to-be-hidden', at));
    expect(new Set(sealed).size).toBe(100);
    expect(new Set(sealed.map((text) => text.split('.')[1])).size).toBe(100);
    for (const text of sealed) expect(text).not.toContain('a-token');
  });

  it('O6 rejects a modified ciphertext', () => {
    const vault = createVault([key]);
    const at = { kind: 'location', owner: 'loc', field: 'access_token' };
    const sealed = vault.seal('token', at);
    fc.assert(
      fc.property(
        fc.nat(sealed.length - 1),
        fc.constantFrom('A', 'Q', 'z', '0', '_', '-', '.'),
        (index, letter) => {
          const changed = sealed.slice(0, index) + letter + sealed.slice(index + 1);
          // The last letter of a base64url part may have bits that are not decoded.
          const opened = vault.open(changed, at);
          expect(opened === undefined || opened === 'token').toBe(true);
          if (changed.split('.').length !== 4) expect(opened).toBeUndefined();
        },
      ),
    );
    for (const junk of ['', '.', '...', 'a.b.c.d', `${sealed}.x`])
      expect(vault.open(junk, at)).toBeUndefined();
  });

  it('O6 seals with the newest key and opens with every configured key', () => {
    const older = randomBytes(32);
    const at = { kind: 'company', owner: 'c', field: 'refresh_token' };
    const sealedThen = createVault([older]).seal('old', at);
    const vault = createVault([key, older]);
    expect(vault.open(sealedThen, at)).toBe('old');
    expect(createVault([key]).open(vault.seal('new', at), at)).toBe('new');
    expect(createVault([key]).open(sealedThen, at)).toBeUndefined();
  });

  it('O6 accepts only keys of 32 bytes', () => {
    for (const length of [0, 16, 31, 33])
      expect(() => createVault([randomBytes(length)])).toThrow('32 bytes');
    expect(() => createVault([]).seal('x', { kind: 'k', owner: 'o', field: 'f' })).toThrow('no encryption');
  });
});
