import type { DatabaseSync } from 'node:sqlite';

import type { Deaths } from './journal.ts';
import { lazyStatements } from './sqlite-statement.ts';

export function sqliteDeaths(db: DatabaseSync): Deaths & { prune(before: number): void } {
  const prepare = lazyStatements(db);
  const all = prepare('SELECT name, deaths FROM death');
  const add = prepare(
    `INSERT INTO death (name, deaths, at) VALUES (?, 1, ?)
     ON CONFLICT (name) DO UPDATE SET deaths = deaths + 1, at = excluded.at RETURNING deaths`,
  );
  const remove = prepare('DELETE FROM death WHERE name = ?');
  const prune = prepare('DELETE FROM death WHERE at < ?');
  return {
    all: () => all.all().map((row) => ({ name: String(row['name']), deaths: Number(row['deaths']) })),
    add: (name, now) => Number(add.get(name, now)?.['deaths']),
    remove: (name) => void remove.run(name),
    prune: (before) => void prune.run(before),
  };
}
