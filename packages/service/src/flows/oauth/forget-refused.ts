import type { Log } from '@footbridge/runtime/log';

import type { FailedAttempt } from '../../ports/crm/attempt.ts';
import type { Grants, Refusal } from '../../ports/grants/grants.ts';

export interface ForgetRefusedDeps {
  readonly grants: Pick<Grants, 'removeRefused'>;
  readonly announce: (ownerId: string) => Promise<void>;
  readonly log: Log;
}

export type ForgetRefused = (
  failure: FailedAttempt,
  request: Omit<Refusal, 'announcedBefore'>,
) => Promise<void>;

/** The CRM may announce an installation before it can issue the tokens. They are requested again for this long after the announcement. */
const ANNOUNCED_MS = 3_600_000;

/** Removes an expected location when the CRM refuses its tokens. It has none then, so its statuses are skipped (A6). */
export function createForgetRefused({ grants, announce, log }: ForgetRefusedDeps): ForgetRefused {
  /** Never rejects. Other failures change nothing. */
  return async function forgetRefused(failure, request) {
    if (!isRefusal(failure)) return;
    const { ownerId: locationId, companyId, requestedAt } = request;
    try {
      if (!(await grants.removeRefused({ ...request, announcedBefore: requestedAt - ANNOUNCED_MS }))) return;
      log.warn(
        { event: 'oauth.location_refused', locationId, companyId, reason: failure.reason },
        'location no longer expected, the CRM issues no tokens for it',
      );
      await announce(locationId);
    } catch (error) {
      log.warn(
        { event: 'oauth.expectation_not_removed', locationId, err: error },
        'location still expected although the CRM issues no tokens for it',
      );
    }
  };
}

/** A 401 concerns the token of the company. A paused location fails as `inactive` and can become active again. */
const isRefusal = ({ kind, status }: FailedAttempt) => kind === 'refused' && status !== 401;
