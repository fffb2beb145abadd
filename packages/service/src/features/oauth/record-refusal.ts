import type { Log } from '@footbridge/runtime/log';

import type { FailedAttempt } from '../../platform/retry/retry.ts';
import type { Grants, Refusal } from './grants-sql.ts';

export interface RecordRefusalDeps {
  readonly grants: Pick<Grants, 'refuse'>;
  readonly announce: (ownerId: string) => Promise<void>;
  readonly log: Log;
}

/** Never rejects. Ignores failures that say nothing about the location. */
export type RecordRefusal = (failure: FailedAttempt, request: Omit<Refusal, 'firstUntil'>) => Promise<void>;

/** The CRM may announce an installation before it can issue the tokens: they are requested for this long after the first refusal. */
const MAX_REFUSED_MS = 3_600_000;

/** Records that the CRM refused the tokens of an expected location, and ends the wait for them. Its statuses are then skipped (A6). */
export function createRecordRefusal({ grants, announce, log }: RecordRefusalDeps): RecordRefusal {
  return async function recordRefusal(failure, request) {
    if (!isRefusal(failure)) return;
    const { ownerId: locationId, companyId, requestedAt } = request;
    try {
      if (!(await grants.refuse({ ...request, firstUntil: requestedAt - MAX_REFUSED_MS }))) return;
      log.warn(
        { event: 'oauth.location_refused', locationId, companyId, reason: failure.reason },
        'expected location removed, the CRM refuses to issue its tokens',
      );
      await announce(locationId);
    } catch (error) {
      log.warn(
        { event: 'oauth.refusal_not_recorded', locationId, err: error },
        'refused tokens of an expected location not recorded',
      );
    }
  };
}

/** 401 and 403 reject the token of the company or its scopes. A paused location fails as `inactive` and can become active again. */
const isRefusal = ({ kind, status }: FailedAttempt) => kind === 'refused' && status !== 401 && status !== 403;
