import { expect, it } from 'vitest';

import { keyedHash } from './keyed-hash.ts';

const [OLD, NEW] = [Buffer.alloc(32, 1), Buffer.alloc(32, 2)];

it('hashes by every key, the newest first', () => {
  const [newest, old] = keyedHash([NEW, OLD]).handle('+15555550100');
  expect(keyedHash([NEW]).handle('+15555550100')).toEqual([newest]);
  expect(keyedHash([OLD]).handle('+15555550100')).toEqual([old]);
  expect(newest).not.toBe(old);
});

it.each([
  ['+1 (555) 555-0100', '+15555550100'],
  [' Jo@Example.com ', 'jo@example.com'],
])('treats %j like %j', (spelling, handle) => {
  const hash = (text: string) => keyedHash([NEW]).handle(text);
  expect(hash(spelling)).toEqual(hash(handle));
});

it('tells different handles apart', () => {
  const hash = (text: string) => keyedHash([NEW]).handle(text);
  expect(hash('+15555550100')).not.toEqual(hash('+15555550101'));
  expect(hash('Bank 72345')).not.toEqual(hash('72345'));
  expect(hash('Bank')).not.toEqual(hash('Shop'));
});
