import { describe, expect, it } from 'vitest';
import { parseBearerToken } from './bearer-token.ts';

describe('parseBearerToken', () => {
  it.each([
    ['Bearer abc', 'abc'],
    ['bearer abc', 'abc'],
    ['BEARER a-b_c', 'a-b_c'],
    ['Bearer eyJhbGciOi.eyJzdWIi.c2ln', 'eyJhbGciOi.eyJzdWIi.c2ln'],
    ['Bearer YQ==', 'YQ=='],
  ])('returns the token of %j', (header, token) => {
    expect(parseBearerToken(header)).toBe(token);
  });

  it.each([
    undefined,
    '',
    'Bearer',
    'Bearer ',
    'abc',
    'Basic abc',
    'Bearerabc',
    ' Bearer abc',
    'Bearer abc ',
    'Bearer abc def',
    'Bearer abc\n',
    'Bearer =abc',
    'Bearer é',
  ])('returns undefined for %j', (header) => {
    expect(parseBearerToken(header)).toBeUndefined();
  });
});
