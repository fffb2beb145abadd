import { MAX_PAGE } from '@footbridge/protocol/operator/parts';

import type { TimedPlace } from '../timed-page.ts';
import { operatorError } from './operator-request.ts';

/** A page and, if the list goes on after it, the place where. */
interface Page<T> {
  readonly entries: readonly T[];
  readonly next: { readonly next?: string };
}

/** Reads one entry more than the page has, which shows whether the list goes on. */
export async function readPage<T>(
  limit: number | undefined,
  read: (limit: number) => Promise<readonly T[]>,
  placeOf: (last: T) => string,
): Promise<Page<T>> {
  const size = limit ?? MAX_PAGE;
  const found = await read(size + 1);
  const entries = found.slice(0, size);
  const last = entries.at(-1);
  return { entries, next: found.length > size && last !== undefined ? { next: placeOf(last) } : {} };
}

export const timedPlace = ({ at, id }: TimedPlace): string => `${at}.${id}`;

/** Throws a RequestError unless the text is from `timedPlace`. */
export function readTimedPlace(after: string | undefined): TimedPlace | undefined {
  if (after === undefined) return undefined;
  const [, at, id] = /^(\d{1,15})\.([\w-]{1,64})$/.exec(after) ?? [];
  if (at === undefined || id === undefined) throw noPlace();
  return { at: Number(at), id };
}

/** The place of an entry in a list that consists of several, each ordered by its own ids. */
export interface NamedPlace<List extends string> {
  readonly list: List;
  readonly id: string;
}

export const namedPlace = <List extends string>({ list, id }: NamedPlace<List>): string => `${list}.${id}`;

/** Throws a RequestError unless the text is from `namedPlace` with one of these lists. */
export function readNamedPlace<const List extends string>(
  after: string | undefined,
  lists: readonly List[],
): NamedPlace<List> | undefined {
  if (after === undefined) return undefined;
  const end = after.indexOf('.');
  const list = lists.find((name) => name === after.slice(0, Math.max(end, 0)));
  const id = after.slice(end + 1);
  // SQLite and PostgreSQL end a text at a null character, or reject it.
  if (list === undefined || id === '' || id.includes('\0')) throw noPlace();
  return { list, id };
}

const noPlace = () =>
  operatorError('INVALID_REQUEST', 'after: must be the `next` of the page before, unchanged');
