import type { LocationId, MessageId, RequestId } from '@footbridge/protocol/ids';

import type { Fields } from './pick-fields.ts';
import type { Rejection } from './rejection.ts';

export interface StatusReports {
  /** Reports `failed` to the CRM when the location has a token. Returns at once, never throws (A7, A8). */
  rejected(report: {
    readonly requestId: RequestId;
    readonly locationId: LocationId;
    readonly messageId: MessageId;
    readonly code: string;
    readonly message: string;
  }): void;
}

/** Rejections that are also reported as a status, with the code used there. The 404 differs on purpose (A7), and so does the 503 (A10). */
const REPORTED: Partial<Record<Rejection['code'], string>> = {
  MISSING_REQUIRED_FIELDS: 'MISSING_REQUIRED_FIELDS',
  MESSAGE_BODY_TOO_LONG: 'MESSAGE_BODY_TOO_LONG',
  RECIPIENT_PHONE_INVALID: 'RECIPIENT_PHONE_INVALID',
  MESSAGE_TOO_OLD: 'MESSAGE_TOO_OLD',
  OPTED_OUT: 'OPTED_OUT',
  SET_ASIDE: 'SET_ASIDE',
  LOCATION_NOT_CONNECTED: 'CLIENT_NOT_CONNECTED',
  SERVICE_UNAVAILABLE: 'INTERNAL_ERROR',
};

const ENDED_TWICE =
  'The service or the agent on the Mac ended twice while it worked on this message. It was set aside; the operator can allow another attempt.';
const NOT_SENT = 'The service could not forward the message to the Mac. Nothing was sent.';

export function reportRejection(
  reports: StatusReports,
  requestId: RequestId,
  { locationId, messageId }: Pick<Fields, 'locationId' | 'messageId'>,
  rejection: Rejection,
): void {
  const code = REPORTED[rejection.code];
  if (code === undefined || locationId === undefined || messageId === undefined) return;
  reports.rejected({ requestId, locationId, messageId, code, message: explain(rejection) });
}

/** Reports a request that ended in a 5xx. Only for one that certainly wrote nothing to the Mac (A10). */
export function reportFailure(
  reports: StatusReports,
  requestId: RequestId,
  { locationId, messageId }: Pick<Fields, 'locationId' | 'messageId'>,
): void {
  if (locationId === undefined || messageId === undefined) return;
  reports.rejected({ requestId, locationId, messageId, code: 'INTERNAL_ERROR', message: NOT_SENT });
}

function explain({ code, label, details }: Rejection): string {
  if (code === 'SERVICE_UNAVAILABLE') return NOT_SENT;
  if (code === 'LOCATION_NOT_CONNECTED') return 'No Mac is connected for this location.';
  if (code === 'SET_ASIDE') return ENDED_TWICE;
  const { required } = details;
  return Array.isArray(required) ? `${label}: ${required.join(', ')}` : label;
}
