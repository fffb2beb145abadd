import { expect, it } from 'vitest';

import type { Call } from './call.ts';
import { OPERATOR_CALLS } from './calls.ts';

/** Lists that cannot grow, and why. */
const BOUNDED: Readonly<Record<string, string>> = {
  checkCrm: 'one entry per scope',
  listRejections: 'at most a thousand per step and header, in memory',
  showAlerts: 'one entry per kind of receiver',
  showCrmApp: 'the scopes of the program',
  showMessage: 'the newest 100 requests of a message, whose steps are bounded',
  showOverview: 'the half hours of a day, codes and hops',
};

const hasList = ({ response }: Call): boolean =>
  Object.values(response?.properties ?? {}).some((schema) => 'type' in schema && schema.type === 'array');

const isPaged = ({ query, response }: Call): boolean =>
  query !== undefined &&
  response !== undefined &&
  Object.hasOwn(query.properties, 'limit') &&
  ((Object.hasOwn(query.properties, 'after') && Object.hasOwn(response.properties, 'next')) ||
    Object.hasOwn(response.properties, 'cursor'));

it('T65 every list of the operator API that can grow is read page by page', () => {
  const lists = OPERATOR_CALLS.filter((call) => call.method === 'GET' && hasList(call));
  const unpaged = lists.filter((call) => !isPaged(call)).map(({ name }) => name);
  expect(unpaged.toSorted()).toEqual(Object.keys(BOUNDED).toSorted());
  expect(lists.filter(isPaged).map(({ name }) => name)).toContain('listDevices');
});
