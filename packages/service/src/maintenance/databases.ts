import type { Config, DatabaseConfig } from '../config/config.ts';
import type { DatabaseName } from './backup-records.ts';

/** The databases of the settings: the main one, and that of the tokens if it is a separate one. */
export function databasesOf({ database, oauth }: Config): ReadonlyMap<DatabaseName, DatabaseConfig> {
  const databases = new Map<DatabaseName, DatabaseConfig>([['main', database]]);
  if (oauth.state === 'ready' && oauth.database !== database) databases.set('oauth', oauth.database);
  return databases;
}
