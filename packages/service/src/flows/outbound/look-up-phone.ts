import type { LocationId } from '@footbridge/protocol/ids';

import type { Clock } from '../../clock.ts';
import type { Logger } from '../../log.ts';

export interface Contacts {
  /** The phone which the CRM has for a contact. Without a token for the location nothing is asked (W7). */
  lookUp(locationId: LocationId, contactId: string): Promise<string | undefined>;
  /** A message goes to this contact under this number: whoever answers from it is that contact. Returns at once. */
  learn(locationId: LocationId, phone: string, contactId: string): void;
}

export interface LookUpParts {
  readonly contacts: Pick<Contacts, 'lookUp'>;
  readonly clock: Clock;
  readonly log: Logger;
}

/** The webhook waits no longer than this for the CRM. */
const PATIENCE_MS = 5000;

/** A CRM that fails or dawdles gives no phone: the request then lacks one (W7). */
export async function lookUpPhone(
  locationId: LocationId,
  contactId: string,
  { contacts, clock, log }: LookUpParts,
): Promise<string | undefined> {
  const { promise: late, resolve } = Promise.withResolvers<undefined>();
  const cancel = clock.after(PATIENCE_MS, () => {
    log.warn({ locationId, ms: PATIENCE_MS }, 'the CRM took too long to tell the phone of a contact');
    resolve(undefined);
  });
  const phone = contacts.lookUp(locationId, contactId).catch((error: unknown) => {
    log.warn({ locationId, err: error }, 'the CRM could not tell the phone of a contact');
    return undefined;
  });
  const found = await Promise.race([phone, late]);
  cancel();
  return found !== undefined && /\S/.test(found) ? found : undefined;
}
