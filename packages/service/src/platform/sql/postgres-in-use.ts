import type { ClientBase } from 'pg';

import { EngineError } from '../errors.ts';

/** The key of the advisory lock: shared by every connection of a service, exclusive for a restore. */
const IN_USE = 0x466f6f74;

/** Marks the database as in use for as long as the connection lives. Rejects while a restore replaces the tables. */
export async function markInUse(client: ClientBase, timeoutMs: number): Promise<void> {
  const text = `select pg_try_advisory_lock_shared(${IN_USE}) as locked`;
  const { rows } = await client.query<{ locked: boolean }>({ text, query_timeout: timeoutMs } as {
    text: string;
  });
  if (rows[0]?.locked !== true)
    throw new EngineError('sql', 'footbridge restore is replacing the tables; wait until it has finished');
}

/** Resolves with false when a service uses the database. The lock lasts until the connection ends. */
export async function lockOutServices(client: ClientBase): Promise<boolean> {
  const { rows } = await client.query<{ locked: boolean }>(
    `select pg_try_advisory_lock(${IN_USE}) as locked`,
  );
  return rows[0]?.locked === true;
}
