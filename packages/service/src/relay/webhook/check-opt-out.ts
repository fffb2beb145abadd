import type { LocationId } from '@footbridge/protocol/ids';

import { Rejection } from './rejection.ts';

/** Whether a number of the location is suppressed. Undefined while opt-outs are not enforced. */
export type IsSuppressed = ((locationId: LocationId, phone: string) => Promise<boolean>) | undefined;

/** E4. Without enforcement the CRM decides whom it texts. */
export async function checkOptOut(
  isSuppressed: IsSuppressed,
  locationId: LocationId,
  phone: string,
): Promise<Rejection | undefined> {
  return (await isSuppressed?.(locationId, phone)) === true ? new Rejection('OPTED_OUT') : undefined;
}
