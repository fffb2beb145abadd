import type { SendFrame } from '@footbridge/protocol/frames';
import type { LocationId } from '@footbridge/protocol/ids';
import type { Clock } from '@footbridge/runtime/clock';
import type { Failpoint } from '@footbridge/runtime/failpoints';
import type { Log } from '@footbridge/runtime/log';

import { EngineError } from '../../platform/errors.ts';
import { OwnerUnknownError, UncertainSendError } from '../switchboard/switchboard.ts';
import { Rejection } from './webhook-outcome.ts';

export interface Forwarding {
  /**
   * Resolves with `written` once the frame is written to the bound Mac's socket. Rejects with UncertainSendError when the outcome is
   * unknown, with OwnerUnknownError when nothing was written and the same request may succeed soon, and with another EngineError when
   * nothing was written.
   */
  send(locationId: LocationId, frame: SendFrame): Promise<'written' | 'not_connected'>;
}

export interface ForwardDeps {
  readonly forwarding: Forwarding;
  readonly log: Log;
  readonly failpoint: Failpoint | undefined;
  readonly clock: Clock;
  /** Called when a frame was written, with the time that took. */
  readonly onForwarded?: (seconds: number) => void;
}

/** Why a message was not forwarded. */
export interface Unsent {
  readonly rejection: Rejection;
  /** False when the frame may have been written nevertheless. */
  readonly isCertain: boolean;
  /** Whether the CRM is told that the message failed. */
  readonly isReported: boolean;
}

/** W16, W18. Nothing is queued, and nothing goes to another Mac. Resolves with undefined when the frame was written. */
export async function forward(
  locationId: LocationId,
  frame: SendFrame,
  { forwarding, log, failpoint, clock, onForwarded }: ForwardDeps,
): Promise<Unsent | undefined> {
  try {
    if (failpoint !== undefined) await failOnRequest(failpoint);
    const since = clock.monotonic();
    const outcome = await forwarding.send(locationId, frame);
    if (outcome === 'written') onForwarded?.((clock.monotonic() - since) / 1000);
    if (failpoint !== undefined) await failpoint('outbound.afterForward');
    return outcome === 'written'
      ? undefined
      : { rejection: notConnected(locationId), isCertain: true, isReported: true };
  } catch (error) {
    if (!(error instanceof EngineError)) throw error;
    log.error(
      { event: 'webhook.mac_unreachable', requestId: frame.requestId, locationId, err: error },
      'Mac unreachable',
    );
    const rejection = new Rejection('SERVICE_UNAVAILABLE', {
      message: 'The service cannot reach its Macs at the moment. Send the same request again.',
    });
    const isCertain = !(error instanceof UncertainSendError);
    return { rejection, isCertain, isReported: isCertain && !(error instanceof OwnerUnknownError) };
  }
}

/** Tests make the forward fail here, like an engine that is down. */
async function failOnRequest(failpoint: Failpoint): Promise<void> {
  try {
    await failpoint('outbound.switchboard');
  } catch (error) {
    throw new EngineError('switchboard', 'the switchboard is down', error);
  }
}

function notConnected(locationId: LocationId): Rejection {
  return new Rejection('LOCATION_NOT_CONNECTED', {
    locationId,
    message:
      'No Mac is connected for this location. Nothing was queued: send the message again once it is back.',
  });
}
