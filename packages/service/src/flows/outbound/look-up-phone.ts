import type { LocationId } from '@footbridge/protocol/ids';
import type { Clock } from '@footbridge/runtime/clock';
import type { Log } from '@footbridge/runtime/log';

export interface Contacts {
  /** Resolves with the phone that the CRM has for a contact. Makes no call without a token for the location (W7). */
  lookUp(locationId: LocationId, contactId: string): Promise<string | undefined>;
  /** Notes the contact that a message was sent to: it is preferred when a search for this number finds several (I2). Returns at once. */
  prefer(locationId: LocationId, phone: string, contactId: string): void;
}

export interface LookUpDeps {
  readonly contacts: Pick<Contacts, 'lookUp'>;
  readonly clock: Clock;
  readonly log: Log;
}

/** How long a webhook waits for the CRM. */
const TIMEOUT_MS = 5000;

/** Resolves with undefined when the CRM fails or is too slow: the request then has no phone (W7). */
export async function lookUpPhone(
  locationId: LocationId,
  contactId: string,
  { contacts, clock, log }: LookUpDeps,
): Promise<string | undefined> {
  const { promise: late, resolve } = Promise.withResolvers<undefined>();
  const cancel = clock.after(TIMEOUT_MS, () => {
    log.warn(
      { event: 'webhook.phone_lookup_timed_out', locationId, ms: TIMEOUT_MS },
      'phone lookup timed out',
    );
    resolve(undefined);
  });
  const phone = contacts.lookUp(locationId, contactId).catch((error: unknown) => {
    log.warn({ event: 'webhook.phone_lookup_failed', locationId, err: error }, 'phone lookup failed');
    return undefined;
  });
  const found = await Promise.race([phone, late]);
  cancel();
  return found !== undefined && /\S/.test(found) ? found : undefined;
}
