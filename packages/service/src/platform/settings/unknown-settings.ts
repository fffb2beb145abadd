import { closestName } from '@footbridge/runtime/closest-name';
import type { Environment } from '@footbridge/runtime/settings';

import type { Table } from './setting.ts';

/** First words of settings that begin the names of other programs' variables too. */
const SHARED = /^(BASE|DATA|DATABASE|HTTPS?|JOURNAL|LOG|MEDIA|NO|NODE|OTEL|PHONE|REDIS|STATUS)_/;
/** Variables that other programs read: Node, npm, the command line and the agent. */
const OF_OTHERS =
  /^(NODE_(?!SECRET)|npm_|FOOTBRIDGE_|COMPOSE_|TZ$|PATH$|HOME$|LANG$|LC_|NO_COLOR$|FORCE_COLOR$)/;
const MAX_EDITS = 5;

const firstWord = (name: string) => /^[A-Z]+_/.exec(name)?.[0];

/** Returns a warning for each unknown name that looks like a setting: a typo would otherwise be ignored silently. */
export function unknownSettings(table: Table, env: Environment): string[] {
  const ours = new Set(Object.values(table).map(({ name }) => firstWord(name)));
  const looksOurs = (name: string) => {
    const word = firstWord(name);
    return word !== undefined && ours.has(word) && !SHARED.test(name);
  };
  return namesOutsideSettings(table, Object.keys(env).filter(looksOurs));
}

/** Returns a warning for each of these names that is not a setting. */
export function namesOutsideSettings(table: Table, names: readonly string[]): string[] {
  const known = Object.values(table).flatMap(({ name, alias, fromFile }) => [
    name,
    ...(fromFile === true ? [`${name}_FILE`] : []),
    ...(alias === undefined ? [] : [alias]),
  ]);
  return names
    .filter((name) => !known.includes(name) && !OF_OTHERS.test(name))
    .map((name) => {
      const closest = closestName(name, known, MAX_EDITS);
      return `${name} is not a setting${closest === undefined ? '' : `; did you mean ${closest}?`}`;
    });
}
