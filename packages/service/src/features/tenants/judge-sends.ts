import type { RecentSend } from '../../relay/journal/journal.ts';
import { FROZEN_MS } from './tenant-path.ts';
import type { LineTraffic } from './tenant-path.ts';

/** Codes whose cause may be Messages itself. The others concern a single message. */
const CODES_OF_MESSAGES = new Set(['IMESSAGE_ERROR', 'TIMEOUT', 'INTERNAL_ERROR']);
const MIN_FAILURES = 5;
/** A workflow may retry one wrong number repeatedly. */
const MIN_PEOPLE = 3;

/** Returns the texts that the Mac has had for too long, if it has reported no result since. `sends` lists the newest first. */
export function unanswered(sends: readonly RecentSend[], now: number): LineTraffic['unanswered'] {
  const lastResultAt = Math.max(0, ...sends.filter(isSettled).map(({ updatedAt }) => updatedAt));
  const old = sends.filter(
    (send) => !isSettled(send) && send.createdAt >= lastResultAt && now - send.createdAt >= FROZEN_MS,
  );
  const oldest = old.at(-1);
  return oldest === undefined ? null : { count: old.length, since: oldest.createdAt };
}

/** Returns the latest consecutive failures if there are many, to several people, and Messages may be the cause. */
export function failing(sends: readonly RecentSend[]): LineTraffic['failing'] {
  const settled = sends.filter(isSettled);
  const end = settled.findIndex(
    ({ state, code }) => state !== 'failed' || !CODES_OF_MESSAGES.has(code ?? ''),
  );
  const failed = end === -1 ? settled : settled.slice(0, end);
  const [newest] = failed;
  const first = failed.at(-1);
  const people = new Set(failed.map(({ person }) => person));
  if (newest === undefined || first === undefined) return null;
  if (failed.length < MIN_FAILURES || people.size < MIN_PEOPLE) return null;
  return { count: failed.length, code: newest.code ?? '', since: first.updatedAt };
}

const isSettled = ({ state }: RecentSend): boolean => state === 'delivered' || state === 'failed';
