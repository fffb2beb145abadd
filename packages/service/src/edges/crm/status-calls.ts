import type { StatusCall, StatusCalls } from '../../flows/status/status-calls.ts';
import type { CrmClient } from './crm-client.ts';

const PENDING = '{"status":"pending"}';
const DELIVERED = '{"status":"delivered"}';

/** `PUT /conversations/messages/{messageId}/status` (A1). */
export function createStatusCalls(client: CrmClient): StatusCalls {
  return {
    tell: (call, patience) =>
      client.call(
        {
          operation: 'status',
          locationId: call.locationId,
          bearer: 'oauth',
          method: 'PUT',
          path: `/conversations/messages/${inPath(call.messageId)}/status`,
          body: bodyOf(call),
        },
        patience,
      ),
  };
}

/** Ids of the CRM need no encoding, and finding that out costs a fifth of doing it. */
const inPath = (id: string) => (PLAIN.test(id) ? id : encodeURIComponent(id));
const PLAIN = /^[\w-]+$/;

function bodyOf({ status, error }: StatusCall): string {
  if (status === 'pending') return PENDING;
  if (status === 'delivered') return DELIVERED;
  return JSON.stringify({
    status,
    ...(error && { error: { code: error.code, type: 'error', message: error.message } }),
  });
}
