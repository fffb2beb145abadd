import { statusEntry } from '@footbridge/protocol/codes';
import type { StatusCode } from '@footbridge/protocol/codes';
import type { RequestId } from '@footbridge/protocol/ids';

import type { StatusReports } from '../status/report-statuses.ts';
import type { Fields } from './webhook-request.ts';
import type { Rejection } from './webhook-outcome.ts';

export type RejectionReports = Pick<StatusReports, 'rejected'>;

/** Rejections that a status names in another way: the 404 on purpose (A7), and so the 503 (A10). */
const RENAMED: Partial<Record<Rejection['code'], StatusCode>> = {
  LOCATION_NOT_CONNECTED: 'CLIENT_NOT_CONNECTED',
  SERVICE_UNAVAILABLE: 'INTERNAL_ERROR',
};

const ENDED_TWICE =
  'The service or the agent on the Mac ended twice while it worked on this message. It was set aside; the operator can allow another attempt.';
const NOT_SENT = 'The service could not forward the message to the Mac. Nothing was sent.';

export function reportRejection(
  reports: RejectionReports,
  requestId: RequestId,
  { locationId, messageId }: Pick<Fields, 'locationId' | 'messageId'>,
  rejection: Rejection,
): void {
  // A rejection that the catalogue has no status for is not reported.
  const code = RENAMED[rejection.code] ?? statusEntry(rejection.code)?.code;
  if (code === undefined || locationId === undefined || messageId === undefined) return;
  reports.rejected({ requestId, locationId, messageId, code, message: explain(rejection) });
}

/** Reports a request that ended in a 5xx. Call it only when nothing was written to the Mac (A10). */
export function reportFailure(
  reports: RejectionReports,
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
