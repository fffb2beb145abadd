import { isLimiterLocationId } from '@footbridge/protocol/ids';

import type { Limit, Limits, Verdict } from '../../platform/limits/limits.ts';

export interface RateDeps {
  readonly limits: Pick<Limits, 'take'>;
  readonly settings: { readonly webhookPerMinute: number; readonly validateLocationId: boolean };
}

export type LimitRate = (request: {
  readonly locationId: string | undefined;
  readonly address: string;
}) => Promise<Verdict> | Verdict;

/** Counts a signed request by location, or by address when the location id is missing or malformed (L1, L3). */
export function rateLimit({ limits, settings }: RateDeps): LimitRate {
  const perMinute = { max: settings.webhookPerMinute, windowSec: 60 };
  const byLocation: Limit = { name: 'webhook', ...perMinute };
  const byAddress: Limit = { name: 'webhook-address', ...perMinute };
  return ({ locationId, address }) =>
    locationId === undefined || (settings.validateLocationId && !isLimiterLocationId(locationId))
      ? limits.take(byAddress, address)
      : limits.take(byLocation, locationId);
}
