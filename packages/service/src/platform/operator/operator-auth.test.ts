import { systemClock } from '@footbridge/runtime/clock';
import { silentLog } from '@footbridge/testkit/silent-log';
import fastify from 'fastify';
import { describe, expect, it } from 'vitest';

import { OperatorAuth } from './authenticate-operator.ts';
import { createMemoryLimits } from '../limits/limits-memory.ts';
import { createOperators } from './operators-sql.ts';
import { openDatabase } from '../sql/open-database.ts';
import { renderError } from '../http/render-error.ts';
import { requireOperator } from './operator-auth.ts';

async function statusOf(token: string, authorization?: string): Promise<number> {
  const app = fastify();
  app.setErrorHandler(renderError(silentLog));
  const database = await openDatabase({ engine: 'sqlite', file: ':memory:' }, () => {});
  const operators = createOperators({ db: database.db, clock: systemClock });
  const auth = new OperatorAuth({ token, operators, clock: systemClock });
  requireOperator({ auth, limits: createMemoryLimits(systemClock) })(app);
  app.get('/', () => 'ok');
  const { statusCode } = await app.inject({ url: '/', headers: authorization ? { authorization } : {} });
  await app.close();
  await database.close();
  return statusCode;
}

describe('the operator token', () => {
  it.each(['operator-token-for-tests', 'p@ss:wörd!#"{}', '='])('may be %j', async (token) => {
    expect(await statusOf(token, `Bearer ${token}`)).toBe(200);
  });

  it.each([undefined, 'Bearer', 'Bearer other', 'Basic abc', 'Bearer abc def', 'abc'])(
    'is rejected when the header is %j',
    async (authorization) => {
      expect(await statusOf('abc', authorization)).toBe(401);
    },
  );
});
