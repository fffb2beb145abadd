import { randomBytes } from 'node:crypto';

import type { Database } from './open-database.ts';

/** Resolves with a secret that all processes on one database share. The first caller generates it. */
export async function sharedSecret(db: Database, name: string): Promise<string> {
  await db
    .insertInto('shared_secrets')
    .values({ name, value: randomBytes(32).toString('base64url') })
    .onConflict((conflict) => conflict.column('name').doNothing())
    .execute();
  const { value } = await db
    .selectFrom('shared_secrets')
    .select('value')
    .where('name', '=', name)
    .executeTakeFirstOrThrow();
  return value;
}
