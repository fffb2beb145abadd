import { expect, it } from 'vitest';

import { hashHandle } from './hash-handle.ts';

const [OLD, NEW] = [Buffer.alloc(32, 1), Buffer.alloc(32, 2)];

it('hashes by every key, the newest first', () => {
  const [newest, old] = hashHandle([NEW, OLD])('+15555550100');
  expect(hashHandle([NEW])('+15555550100')).toEqual([newest]);
  expect(hashHandle([OLD])('+15555550100')).toEqual([old]);
  expect(newest).not.toBe(old);
});

it.each([
  ['+1 (555) 555-0100', '+15555550100'],
  [' Jo@Example.com ', 'jo@example.com'],
])('treats %j like %j', (spelling, handle) => {
  const hash = hashHandle([NEW]);
  expect(hash(spelling)).toEqual(hash(handle));
});

it('tells different handles apart', () => {
  const hash = hashHandle([NEW]);
  expect(hash('+15555550100')).not.toEqual(hash('+15555550101'));
});
