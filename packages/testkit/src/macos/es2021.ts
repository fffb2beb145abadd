import { runInContext } from 'node:vm';
import type { Context } from 'node:vm';

/** What later editions of JavaScript added. `osascript` of macOS 13 does not have all of it. */
const LATER: Readonly<Record<string, readonly string[]>> = {
  'Array.prototype': ['at', 'findLast', 'findLastIndex', 'toReversed', 'toSorted', 'toSpliced', 'with'],
  'String.prototype': ['at', 'isWellFormed', 'toWellFormed'],
  'Set.prototype': ['union', 'intersection', 'difference', 'isSubsetOf', 'isSupersetOf', 'isDisjointFrom'],
  Object: ['hasOwn', 'groupBy'],
  Map: ['groupBy'],
  Array: ['fromAsync'],
  Promise: ['withResolvers', 'try'],
  globalThis: ['Iterator'],
};

/** Removes from a context what is newer than ES2021. */
export function limitToEs2021(context: Context): void {
  for (const [owner, names] of Object.entries(LATER))
    for (const name of names) runInContext(`delete ${owner}.${name}`, context);
}
