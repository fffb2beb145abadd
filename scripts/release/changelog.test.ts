import { expect, it } from 'vitest';

import { changelogEntry } from './changelog.ts';

const CHANGELOG = '# Changelog\n\n## 1.1.0 — unreleased\n\n- New.\n\n## 1.0.0 — 2026-01-01\n\n- Old.\n';

it('returns the entry of a version with its date', () => {
  expect(changelogEntry(CHANGELOG, '1.1.0', '2026-02-01')).toEqual({
    heading: '## 1.1.0 — 2026-02-01',
    text: '- New.',
  });
  expect(changelogEntry(CHANGELOG, '1.0.0', '2026-01-01').text).toBe('- Old.');
});

it('throws without an entry', () => {
  expect(() => changelogEntry(CHANGELOG, '1.2.0', '2026-02-01')).toThrow('no entry for 1.2.0');
  expect(() => changelogEntry('## 1.2.0 — unreleased\n\n## 1.1.0', '1.2.0', '2026-02-01')).toThrow(
    'no entry',
  );
});
