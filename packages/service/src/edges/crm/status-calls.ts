import type { StatusCalls, StatusUpdate } from '../../flows/status/status-calls.ts';
import { succeeded } from '../../ports/crm/attempt.ts';
import type { CrmClient } from './crm-client.ts';

const PENDING = '{"status":"pending"}';
const DELIVERED = '{"status":"delivered"}';
const UPDATED = succeeded(undefined);

/** `PUT /conversations/messages/{messageId}/status` (A1). `withGuid` adds the Mac's GUID to `delivered`. */
export function createStatusCalls(client: CrmClient, withGuid: boolean): StatusCalls {
  return {
    put: (update, guard) =>
      client.attempt(
        {
          operation: 'status',
          locationId: update.locationId,
          bearer: 'oauth',
          method: 'PUT',
          path: `/conversations/messages/${pathSegment(update.messageId)}/status`,
          body: bodyOf(update, withGuid),
          read: () => UPDATED,
          discardsBody: true,
        },
        guard,
      ),
  };
}

/** The CRM's own ids need no encoding, and finding that out costs a fifth of doing it. */
const pathSegment = (id: string) => (PLAIN.test(id) ? id : encodeURIComponent(id));
const PLAIN = /^[\w-]+$/;

function bodyOf({ status, error, guid }: StatusUpdate, withGuid: boolean): string {
  if (status === 'pending') return PENDING;
  if (status === 'delivered')
    return withGuid && guid !== undefined ? JSON.stringify({ status, messageGuid: guid }) : DELIVERED;
  return JSON.stringify({
    status,
    ...(error && { error: { code: error.code, type: 'error', message: error.message } }),
  });
}
