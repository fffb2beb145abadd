import { readJson } from '@footbridge/protocol/read-json';
import { isObject } from '@footbridge/protocol/schema';
import type { Attempt, SendGuard, FailedAttempt } from '../../platform/retry/retry.ts';
import { failed, succeeded } from '../../platform/retry/retry.ts';
import type { CrmClient } from '../crm/crm-client.ts';

/** The only statuses that are sent to the CRM (A1). */
export type Status = 'pending' | 'delivered' | 'failed';

export interface StatusError {
  readonly code: string;
  readonly message: string;
}

export interface StatusUpdate {
  readonly locationId: string;
  readonly messageId: string;
  readonly status: Status;
  readonly error: StatusError | undefined;
  /** The Mac's GUID of the message, when it is known. */
  readonly guid?: string | undefined;
}

/** What the CRM shows for a message: its status, `none` without one of ours, `absent` when the location has no such message. */
export type ShownStatus = Status | 'none' | 'absent';

/** The status calls of the CRM. One attempt each; never reject. */
export interface StatusCalls {
  read(locationId: string, messageId: string, guard: SendGuard): Promise<Attempt<ShownStatus>>;
  put(update: StatusUpdate, guard: SendGuard): Promise<Attempt<undefined>>;
}

const PENDING = '{"status":"pending"}';
const DELIVERED = '{"status":"delivered"}';
const UPDATED = succeeded(undefined);

/** Any other status of the CRM is neither an outcome nor `pending`. */
const SHOWN: ReadonlyMap<unknown, ShownStatus> = new Map([
  ['pending', 'pending'],
  ['delivered', 'delivered'],
  ['read', 'delivered'],
  ['failed', 'failed'],
  ['undelivered', 'failed'],
]);
const NOT_OURS = /message not found|no message found|does not have access to this location/i;

/** `PUT /conversations/messages/{messageId}/status` (A1), and the read of a message's status. `withGuid` adds the Mac's GUID to `delivered`. */
export function createStatusCalls(client: CrmClient, withGuid: boolean): StatusCalls {
  return {
    put: (update, guard) =>
      client.attempt(
        {
          operation: 'status',
          locationId: update.locationId,
          bearer: 'oauth',
          method: 'PUT',
          path: `/conversations/messages/${encodeURIComponent(update.messageId)}/status`,
          body: bodyOf(update, withGuid),
          read: () => UPDATED,
          discardsBody: true,
        },
        guard,
      ),
    async read(locationId, messageId, guard) {
      const result = await client.attempt(
        {
          operation: 'read_status',
          locationId,
          bearer: 'oauth',
          method: 'GET',
          path: `/conversations/messages/${encodeURIComponent(messageId)}`,
          read: (text, status) => readShown(readJson(text), locationId, messageId, status),
        },
        guard,
      );
      return !result.ok && isAbsent(result) ? succeeded('absent') : result;
    },
  };
}

/** A missing scope is a rejection too, and says nothing about the message. */
const isAbsent = ({ kind, status, reason }: FailedAttempt) =>
  kind === 'refused' && (status === 404 || NOT_OURS.test(reason));

function readShown(
  body: unknown,
  locationId: string,
  messageId: string,
  status: number,
): Attempt<ShownStatus> {
  if (!isObject(body) || body['id'] !== messageId)
    return failed('empty', { status, reason: 'the response is not what was requested', retryable: false });
  return succeeded(body['locationId'] === locationId ? (SHOWN.get(body['status']) ?? 'none') : 'absent');
}

function bodyOf({ status, error, guid }: StatusUpdate, withGuid: boolean): string {
  if (status === 'pending') return PENDING;
  if (status === 'delivered')
    return withGuid && guid !== undefined ? JSON.stringify({ status, messageGuid: guid }) : DELIVERED;
  return JSON.stringify({
    status,
    ...(error && { error: { code: error.code, type: 'error', message: error.message } }),
  });
}
