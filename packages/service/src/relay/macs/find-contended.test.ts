import { expect, it } from 'vitest';

import { contendedLocations } from './find-contended.ts';

it('Macs that displace each other are an issue of their location', () => {
  const [found] = contendedLocations(new Map([['loc1', { count: 9, since: 0 }]]));
  expect(found).toMatchObject({ kind: 'location_contended', subject: 'loc1' });
  expect(found?.sentence).toMatch(/displace each other/);
  expect(found?.action).toMatch(/stop the agent on all but one/);
});
