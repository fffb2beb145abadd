import { STATUS_CODES } from 'node:http';

import { expect, it } from 'vitest';

import { HTTP_STATUSES } from './http-statuses.ts';

it('has the statuses that Node knows', () => {
  expect(HTTP_STATUSES).toMatchObject(STATUS_CODES);
});
