import type { LocationId } from '@footbridge/protocol/ids';
import type { Clock } from '@footbridge/runtime/clock';
import type { Log } from '@footbridge/runtime/log';

import { EngineError } from '../../platform/errors.ts';
import { Rejection } from './webhook-outcome.ts';

export interface Contacts {
  /**
   * Resolves with the phone that the CRM has for a contact. Makes no call without a token for the location (W7). Rejects with EngineError
   * when this service could not make the call.
   */
  lookUp(locationId: LocationId, contactId: string): Promise<string | undefined>;
  /** Notes the contact that a message was sent to: it is preferred when a search for this number finds several (I2). Returns at once. */
  prefer(locationId: LocationId, phone: string, contactId: string): void;
}

export interface LookUpDeps {
  readonly contacts: Pick<Contacts, 'lookUp'>;
  readonly clock: Clock;
  readonly log: Log;
}

const NOT_LOOKED_UP = new Rejection('SERVICE_UNAVAILABLE', {
  message: 'The service could not look up the phone of this contact now. Send the same request again.',
});
/** How long a webhook waits for the CRM. */
const TIMEOUT_MS = 5000;

/**
 * Resolves with undefined when the CRM fails or is too slow: the request then has no phone (W7). Resolves with a rejection when the call
 * could not be made: nothing is known about the phone then, and the CRM can send the same request again.
 */
export async function lookUpPhone(
  locationId: LocationId,
  contactId: string,
  { contacts, clock, log }: LookUpDeps,
): Promise<string | Rejection | undefined> {
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
    return error instanceof EngineError ? NOT_LOOKED_UP : undefined;
  });
  const found = await Promise.race([phone, late]);
  cancel();
  return typeof found === 'string' && !/\S/.test(found) ? undefined : found;
}
