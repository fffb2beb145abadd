import { expect, it } from 'vitest';

import { fullDisk } from './find-full-disk.ts';

it('a disk that is almost full is an issue of its machine', () => {
  const [found] = fullDisk({ host: 'one', freeBytes: 4e9, totalBytes: 100e9 });
  expect(found).toMatchObject({ kind: 'disk_almost_full', subject: 'one' });
  expect(found?.sentence).toMatch(/one has 4000 MB left of 100000 MB/);
  expect(found?.action).toMatch(/Free space/);
  expect(fullDisk({ host: 'one', freeBytes: 50e9, totalBytes: 100e9 })).toEqual([]);
});
