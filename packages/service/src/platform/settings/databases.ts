import type { Config, DatabaseConfig } from './config.ts';

/** The main database, and the one of the tokens if it is separate. */
export type DatabaseName = 'main' | 'oauth';

/** Returns the configured databases: the main one, and the token database if it is separate. */
export function databasesOf({ database, oauth }: Config): ReadonlyMap<DatabaseName, DatabaseConfig> {
  const databases = new Map<DatabaseName, DatabaseConfig>([['main', database]]);
  if (oauth.state === 'ready' && oauth.database !== database) databases.set('oauth', oauth.database);
  return databases;
}
