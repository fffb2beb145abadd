import { STATUS_CODES } from 'node:http';

import { expect, it } from 'vitest';

import { HTTP_STATUSES } from './http-statuses.ts';

it('the table has every status that Node has', () => {
  expect(HTTP_STATUSES).toMatchObject(STATUS_CODES);
});
