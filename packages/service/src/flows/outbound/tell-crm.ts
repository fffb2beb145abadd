import type { LocationId, MessageId, RequestId } from '@footbridge/protocol/ids';

import type { Fields } from './pick-fields.ts';
import type { Refusal } from './refusal.ts';

export interface StatusReports {
  /** Tells the CRM that a message failed, when there is a token to tell it with. Returns at once, never throws (A7, A8). */
  rejected(report: {
    readonly requestId: RequestId;
    readonly locationId: LocationId;
    readonly messageId: MessageId;
    readonly code: string;
    readonly message: string;
  }): void;
}

/** The refusals that the CRM also hears of as a status, and what they are called there. The 404 differs on purpose (A7). */
const REPORTED: Partial<Record<Refusal['code'], string>> = {
  MISSING_REQUIRED_FIELDS: 'MISSING_REQUIRED_FIELDS',
  MESSAGE_BODY_TOO_LONG: 'MESSAGE_BODY_TOO_LONG',
  RECIPIENT_PHONE_INVALID: 'RECIPIENT_PHONE_INVALID',
  LOCATION_NOT_CONNECTED: 'CLIENT_NOT_CONNECTED',
};

export function tellCrm(
  reports: StatusReports,
  requestId: RequestId,
  { locationId, messageId }: Pick<Fields, 'locationId' | 'messageId'>,
  refusal: Refusal,
): void {
  const code = REPORTED[refusal.code];
  if (code === undefined || locationId === undefined || messageId === undefined) return;
  reports.rejected({ requestId, locationId, messageId, code, message: explain(refusal) });
}

function explain({ code, label, details }: Refusal): string {
  if (code === 'LOCATION_NOT_CONNECTED') return 'No Mac is connected for this location.';
  const { required } = details;
  return Array.isArray(required) ? `${label}: ${required.join(', ')}` : label;
}
