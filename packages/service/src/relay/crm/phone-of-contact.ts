import { usableMessageId } from '@footbridge/protocol/ids';
import type { Clock } from '@footbridge/runtime/clock';

import { EngineError } from '../../platform/errors.ts';
import type { Attempt, FailedAttempt, SendGuard } from '../../platform/retry/attempt.ts';
import { retry } from '../../platform/retry/retry.ts';
import { once } from '../../platform/retry/retry-policies.ts';

export interface PhoneCalls {
  /** One attempt. Resolves with undefined when the contact has no phone or belongs to another location. */
  readPhone(
    locationId: string,
    contactId: string,
    timeoutMs: number,
    guard: SendGuard,
  ): Promise<Attempt<string | undefined>>;
}

export interface LookUpPhoneDeps {
  readonly calls: PhoneCalls;
  readonly clock: Clock;
}

/** The deadline of a lookup. A webhook waits for it. */
const WITHIN_MS = 4000;

/**
 * Looks up the phone of a contact, for a webhook without one (W7). Makes one attempt, unless the deadline has passed. Throws EngineError
 * when this service could not make the call.
 */
export function createLookUpPhone({ calls, clock }: LookUpPhoneDeps) {
  return async function lookUpPhone(locationId: string, contactId: string): Promise<string | undefined> {
    // An id that does not fit into one path segment is not a contact of the CRM.
    if (usableMessageId(contactId) === undefined) return undefined;
    const deadline = new AbortController();
    const cancel = clock.after(WITHIN_MS, () => deadline.abort());
    let latest: Attempt<string | undefined> | undefined;
    const result = await retry({
      attempt: async (previous) =>
        (latest = await calls.readPhone(locationId, contactId, WITHIN_MS, {
          previous,
          cancellation: deadline,
        })),
      policy: once,
      isWanted: () => !deadline.signal.aborted,
      clock,
    });
    cancel();
    if (result.ok) return result.value;
    if (latest?.ok === false && wasNotMade(latest))
      throw new EngineError('crm', `the call was not made: ${latest.reason}`);
    return undefined;
  };
}

/** The call waited for a connection or for the rate limit until its time was over. */
const wasNotMade = ({ kind, inDoubt }: FailedAttempt) =>
  kind === 'crowded' || kind === 'cancelled' || (kind === 'timeout' && inDoubt !== true);
