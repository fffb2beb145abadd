import { expect, it } from 'vitest';

import { rejectedSignatures } from './find-rejected-signatures.ts';

const AT = Date.parse('2026-11-15T09:12:00Z');

it('webhooks whose signatures no key verifies are an issue', () => {
  const [found] = rejectedSignatures({ count: 5, since: AT });
  expect(found?.kind).toBe('signatures_rejected');
  expect(found?.sentence).toMatch(/^5 webhooks got 401/);
  expect(found?.action).toMatch(/footbridge keys test/);
});

it('a few webhooks with a wrong signature are not an issue', () => {
  expect(rejectedSignatures({ count: 4, since: AT })).toEqual([]);
});
