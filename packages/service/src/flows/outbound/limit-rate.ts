import { isLimiterLocationId } from '@footbridge/protocol/ids';

import type { Limit, Limits, Verdict } from '../../ports/limits/limits.ts';

export interface RateParts {
  readonly limits: Pick<Limits, 'take'>;
  readonly settings: { readonly webhookPerMinute: number; readonly validateLocationId: boolean };
}

/** Counts a signed request against its location, or against its address when the location cannot be counted by (L1, L3). */
export function limitRate(
  request: { readonly locationId: string | undefined; readonly address: string },
  { limits, settings }: RateParts,
): Promise<Verdict> | Verdict {
  const limit: Limit = { name: 'webhook', max: settings.webhookPerMinute, windowSec: 60 };
  return limits.take(limit, keyOf(request, settings.validateLocationId));
}

function keyOf(
  { locationId, address }: { locationId: string | undefined; address: string },
  validate: boolean,
): string {
  if (locationId === undefined || (validate && !isLimiterLocationId(locationId))) return `ip:${address}`;
  return `loc:${locationId}`;
}
