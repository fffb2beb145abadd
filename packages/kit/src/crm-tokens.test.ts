import { describe, expect, it } from 'vitest';
import { issueToken, readToken } from './crm-tokens.ts';

const SECRET = 'a-client-secret-of-32-characters';
const NOW = Date.UTC(2026, 0, 1);

describe('CRM tokens', () => {
  it('a token returns its location until it expires', async () => {
    const token = await issueToken('access', 'loc/1 é', SECRET, NOW);
    expect(token).toMatch(/^[\w-]+\.[\w-]+$/);
    expect(await readToken('access', token, SECRET, NOW + 86_399_000)).toBe('loc/1 é');
    expect(await readToken('access', token, SECRET, NOW + 86_400_000)).toBeUndefined();
  });

  it('rejects a token for another purpose', async () => {
    const code = await issueToken('code', 'loc1', SECRET, NOW);
    expect(await readToken('code', code, SECRET, NOW)).toBe('loc1');
    expect(await readToken('access', code, SECRET, NOW)).toBeUndefined();
  });

  it('rejects a forged token', async () => {
    const token = await issueToken('access', 'loc1', SECRET, NOW);
    const [claims = '', signature = ''] = token.split('.');
    const otherClaims = btoa(JSON.stringify(['access', 'loc2', NOW])).replaceAll('=', '');
    const otherSecret = await issueToken('access', 'loc1', SECRET.toUpperCase(), NOW);
    const forged = [
      '',
      '.',
      claims,
      `${claims}.`,
      `.${signature}`,
      `${otherClaims}.${signature}`,
      `${token}.`,
    ];
    for (const one of [...forged, `${token}=`, token.slice(0, -1), otherSecret])
      expect([one, await readToken('access', one, SECRET, NOW)]).toEqual([one, undefined]);
  });

  it('requires a client secret of at least 32 characters', async () => {
    await expect(issueToken('access', 'loc1', '')).rejects.toThrow('at least 32 characters');
    await expect(readToken('access', '', 'short')).rejects.toThrow('at least 32 characters');
  });
});
