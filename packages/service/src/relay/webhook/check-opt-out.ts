import type { LocationId } from '@footbridge/protocol/ids';

import { Rejection } from './rejection.ts';

/** Whether this person does not want texts of the location. */
export type IsSuppressed = (locationId: LocationId, phone: string) => Promise<boolean>;

/** Opt-outs are not enforced. */
export const NOBODY: IsSuppressed = async () => false;

/** E4. Without enforcement the CRM decides whom it texts. */
export async function checkOptOut(
  isSuppressed: IsSuppressed,
  locationId: LocationId,
  phone: string,
): Promise<Rejection | undefined> {
  return (await isSuppressed(locationId, phone)) ? new Rejection('OPTED_OUT') : undefined;
}
