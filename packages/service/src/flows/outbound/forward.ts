import type { SendFrame } from '@footbridge/protocol/frames';
import type { LocationId } from '@footbridge/protocol/ids';

import { EngineError } from '../../errors.ts';
import type { Logger } from '../../log.ts';
import { Refusal } from './refusal.ts';

export interface Forwarding {
  /** `written`: the frame is on the socket of the Mac bound to the location. Rejects with EngineError when that cannot be found out. */
  send(locationId: LocationId, frame: SendFrame): Promise<'written' | 'not_connected'>;
}

export interface ForwardParts {
  readonly forwarding: Forwarding;
  readonly log: Logger;
}

/** W16, W18. Nothing is queued and nothing goes to another Mac. */
export async function forward(
  locationId: LocationId,
  frame: SendFrame,
  { forwarding, log }: ForwardParts,
): Promise<Refusal | undefined> {
  try {
    const outcome = await forwarding.send(locationId, frame);
    return outcome === 'written' ? undefined : notConnected(locationId);
  } catch (error) {
    if (!(error instanceof EngineError)) throw error;
    log.error(
      { requestId: frame.requestId, locationId, err: error },
      'the Mac of a location could not be reached',
    );
    return new Refusal('SERVICE_UNAVAILABLE', {
      message: 'The service cannot reach its Macs at the moment. Send the same request again.',
    });
  }
}

function notConnected(locationId: LocationId): Refusal {
  return new Refusal('LOCATION_NOT_CONNECTED', {
    locationId,
    message:
      'No Mac is connected for this location. Nothing was queued: send the message again once it is back.',
  });
}
