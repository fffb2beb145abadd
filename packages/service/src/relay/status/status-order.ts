import type { KnownStatus } from './message-attempt.ts';
import type { Status } from './status-calls.ts';
import type { StatusSource } from './status-retry-policy.ts';

/**
 * Whether a status may follow the last one that the CRM was told (A4, A5). Nothing follows `delivered`. `pending` begins an attempt: the
 * first one, or another after one that failed or was rejected. A frame that was or may have been `written` to the Mac is under way, so that
 * the rejection of another request says nothing about the message.
 */
export function mayFollow(last: KnownStatus, source: StatusSource, status: Status): boolean {
  if (source === 'terminal') return last !== 'delivered' && last !== status;
  if (last === 'written' || last === 'uncertain') return source === 'pending';
  return last === 'none' || last === 'repeated' || last === 'failed';
}
