import type { Log } from '@footbridge/runtime/log';
import type { Received } from './record-request.ts';
import type { Rejection } from './rejection.ts';
import { userOf } from './user-of.ts';

/** The log line of a signed request: `code` tells why it was not sent. A request that failed a check may lack any of the ids. */
export function logRequest(log: Log, { request, fields }: Received, rejection?: Rejection): void {
  log.info(
    {
      event: 'webhook.handled',
      requestId: request.requestId,
      locationId: fields.locationId,
      messageId: fields.messageId,
      ...userOf(fields),
      code: rejection?.code,
    },
    'webhook handled',
  );
}
