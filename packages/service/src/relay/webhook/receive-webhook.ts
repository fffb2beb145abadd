import { hash } from 'node:crypto';

import type { SendFrame } from '@footbridge/protocol/frames';
import { isLimiterLocationId } from '@footbridge/protocol/ids';
import type { LocationId } from '@footbridge/protocol/ids';
import type { Clock } from '@footbridge/runtime/clock';
import type { Failpoint } from '@footbridge/runtime/failpoints';
import type { Log } from '@footbridge/runtime/log';

import type { Metrics } from '../../platform/metrics/metrics.ts';
import type { Handovers } from '../accounts/handovers.ts';
import type { Texts } from '../journal/texts.ts';
import type { Slot, Occurrence } from '../../platform/extension-points.ts';
import type { INBOUND } from '../inbound/settings.ts';
import type { Journal } from '../journal/journal-sql.ts';
import type { TrustedKey } from '../keys/keys.ts';
import type { KEYS } from '../keys/settings.ts';
import type { ValuesOf } from '../../platform/settings/setting.ts';
import type { Limit, Limits, Verdict } from '../../platform/limits/limits.ts';
import { SET_ASIDE } from '../../platform/suspects/suspects.ts';
import type { MessageName } from '../../platform/suspects/suspects.ts';
import type { Suspects } from '../../platform/suspects/suspects-sql.ts';
import type { ContactBook } from '../inbound/contact-book.ts';
import type { Phones } from '../people/handles.ts';
import { SignatureCheck } from '../keys/verify-signature.ts';
import type { SignatureDeps, SignatureVerdict } from '../keys/verify-signature.ts';
import { EngineError } from '../../platform/errors.ts';
import { OwnerUnknownError, UncertainSendError } from '../switchboard/switchboard.ts';
import type { Switchboard } from '../switchboard/switchboard.ts';
import { ageCheck, checkMessage } from './check-message.ts';
import type { CheckDeps } from './check-message.ts';
import { callerOf, pickFields, pickLocation } from './webhook-request.ts';
import type { Fields, WebhookRequest } from './webhook-request.ts';
import {
  logRequest,
  recordAccepted,
  recordDelivered,
  recordRejected,
  recordUnsent,
  reportFailure,
  reportRejection,
} from './record-request.ts';
import type { Received, RejectionReports } from './record-request.ts';
import type { ReplayMemory } from './recognise-replay.ts';
import { Rejection } from './webhook-outcome.ts';
import type { Unsent, WebhookOutcome } from './webhook-outcome.ts';
import type { WEBHOOK } from './settings.ts';

/** The journal has the times of all nodes. */
const CLOCK_SKEW_MS = 10_000;

export interface OutboundDeps extends Omit<SignatureDeps, 'unsignedPerMinute'>, CheckDeps, ForwardDeps {
  readonly limits: Pick<Limits, 'take'>;
  readonly inbound: { readonly contacts: Pick<ContactBook, 'prefer'> };
  readonly reports: RejectionReports;
  readonly journal: Pick<Journal, 'open' | 'step' | 'wasDelivered'>;
  readonly handovers: Pick<Handovers, 'of'>;
  readonly metrics: Pick<Metrics, 'duplicate' | 'routed'>;
  readonly suspects: Pick<Suspects, 'handle' | 'workOn'>;
  readonly phones: Pick<Phones, 'normal' | 'recorded'>;
  readonly texts: Slot<Pick<Texts, 'take'>>;
  /** Undefined: every webhook is sent. */
  readonly replays: Pick<ReplayMemory, 'once'> | undefined;
  readonly settings: Omit<ValuesOf<typeof WEBHOOK>, 'replayMemory'> &
    Pick<ValuesOf<typeof KEYS & typeof INBOUND>, 'unsignedPerMinute' | 'sendAltId'> & {
      /** Whether messages are traced, as part of the caller's trace if there is one. */
      readonly isTraced: boolean;
    };
}

/** Returns a promise unless the signature is rejected at once. */
export type ReceiveWebhook = (request: WebhookRequest) => WebhookOutcome | Promise<WebhookOutcome>;

/**
 * Handles one outbound message, from the signature to the Mac, in the order of W17. The response waits for no callback: this flow
 * reports rejections to the CRM (A7); the node that holds the Mac's socket reports `pending` and the final status (A2).
 */
export function receiveWebhook(deps: OutboundDeps): ReceiveWebhook {
  const { settings, inbound, reports, journal, suspects, phones, texts, replays, log, failpoint } = deps;
  const signatures = new SignatureCheck({ ...deps, unsignedPerMinute: settings.unsignedPerMinute });
  const limitRate = rateLimit(deps);
  const checkAge = ageCheck(settings.messageMaxAgeMs, deps.clock);

  async function receiveSigned(request: WebhookRequest, key: TrustedKey): Promise<WebhookOutcome> {
    const { requestId, body, address } = request;
    const fields = pickFields(body);
    if (fields.locationId !== undefined) texts.value.take(fields.locationId, requestId, fields.message ?? '');
    const traceparent = settings.isTraced ? callerOf(request) : undefined;
    const received = { request, fields, key, traceparent, name: nameOf(request, fields) };
    const rate = await reported(received, async () => limitRate({ locationId: fields.locationId, address }));
    if (!rate.allowed) return { kind: 'limited', rate };
    const outcome = await suspects.handle(received.name, () => receiveAllowed(received, rate), isHandled);
    return outcome === SET_ASIDE ? reject(received, new Rejection('SET_ASIDE'), rate) : outcome;
  }

  /** Tells the CRM when a check fails by itself. */
  async function reported<T>({ request, fields }: Received, check: () => Promise<T>): Promise<T> {
    try {
      return await check();
    } catch (error) {
      reportFailure(reports, request.requestId, fields);
      throw error;
    }
  }

  function reject(received: Received, rejection: Rejection, rate: Verdict): WebhookOutcome {
    const { requestId } = received.request;
    recordRejected(journal, received, rejection, phones);
    logRequest(log, received, rejection);
    reportRejection(reports, requestId, received.fields, rejection);
    return { kind: 'rejected', requestId, rejection, rate };
  }

  async function receiveAllowed(received: Received, rate: Verdict): Promise<WebhookOutcome> {
    const { request } = received;
    const { requestId } = request;
    const checked = await reported(received, async () => {
      const message = await checkMessage(received, checkAge, deps);
      if (failpoint !== undefined) await failpoint('outbound.beforeForward');
      return message;
    });
    if (checked instanceof Rejection) return reject(received, checked, rate);

    const { locationId, frame } = checked;
    if (replays === undefined || frame.messageId !== null) return pass(received, checked, rate);
    let outcome = sentOf(received, locationId, rate);
    const isReplay = await replays.once(request.rawBody, async () => {
      outcome = await pass(received, checked, rate);
      return outcome.kind === 'sent';
    });
    if (isReplay) {
      deps.metrics.duplicate('webhook');
      log.warn(
        { event: 'webhook.replayed', requestId, locationId },
        'repeated webhook without a messageId, not sent again',
      );
    }
    return outcome;
  }

  /** Forwards a checked message to the Mac, unless a former device of the location has delivered it. */
  async function pass(
    received: Received,
    { locationId, frame }: { locationId: LocationId; frame: SendFrame },
    rate: Verdict,
  ): Promise<WebhookOutcome> {
    const { requestId } = received.request;
    const { messageId } = frame;
    const handedOverAt = messageId === null ? undefined : deps.handovers.of(locationId);
    if (
      messageId !== null &&
      handedOverAt !== undefined &&
      (await wasDelivered({ locationId, messageId }, handedOverAt))
    ) {
      recordDelivered(journal, received, locationId, frame.phone);
      logRequest(log, received);
      deps.metrics.duplicate('message');
      return sentOf(received, locationId, rate);
    }
    suspects.workOn(received.name);
    // Recorded before the send: the Mac's status may arrive before the send resolves.
    recordAccepted(journal, received, locationId, frame.phone);
    const unsent = await forward(locationId, frame, deps);
    if (unsent !== undefined) {
      const { rejection, isReported } = unsent;
      recordUnsent(journal, received, unsent);
      logRequest(log, received, rejection);
      if (isReported) reportRejection(reports, requestId, received.fields, rejection);
      return { kind: 'rejected', requestId, rejection, rate };
    }
    logRequest(log, received);
    // A search for this number may find several contacts: the one that was written to is preferred (I2).
    inbound.contacts.prefer(locationId, frame.phone, frame.contactId);
    return sentOf(received, locationId, rate);
  }

  /** Whether a former device of the location has delivered the message (M4). The present device does not know. */
  async function wasDelivered(message: { locationId: string; messageId: string }, handedOverAt: number) {
    try {
      return await journal.wasDelivered(message, handedOverAt + CLOCK_SKEW_MS);
    } catch (error) {
      log.warn(
        { event: 'webhook.journal_unavailable', locationId: message.locationId, err: error },
        'journal unavailable; message sent, former delivery unknown',
      );
      return false;
    }
  }

  function receive(request: WebhookRequest): WebhookOutcome | Promise<WebhookOutcome> {
    const decide = (verdict: SignatureVerdict) =>
      verdict.ok
        ? receiveSigned(request, verdict.key)
        : ({ kind: 'unsigned', fault: verdict.fault } as const);
    const verdict = signatures.verify(request, pickLocation(request.body));
    return verdict instanceof Promise ? verdict.then(decide) : decide(verdict);
  }

  return (request) => {
    const fail = (error: unknown): WebhookOutcome => {
      const { requestId } = request;
      log.error({ event: 'webhook.failed', requestId, err: error }, 'webhook failed');
      return { kind: 'failed', requestId };
    };
    try {
      const outcome = receive(request);
      return outcome instanceof Promise ? outcome.catch(fail) : outcome;
    } catch (error) {
      return fail(error);
    }
  };
}

const sentOf = ({ request, fields }: Received, locationId: LocationId, rate: Verdict): WebhookOutcome => ({
  kind: 'sent',
  requestId: request.requestId,
  channel: request.channel,
  messageId: fields.givenMessageId,
  locationId,
  rate,
});

/** Whether the message is through. A message that no Mac got was never written to a socket, and the write may be what ends the process. */
const isHandled = (outcome: WebhookOutcome) =>
  outcome.kind === 'sent' ||
  (outcome.kind === 'rejected' &&
    outcome.rejection.code !== 'LOCATION_NOT_CONNECTED' &&
    outcome.rejection.code !== 'SERVICE_UNAVAILABLE');

/** A message without an id is recognised by its bytes when it comes again. */
const nameOf = ({ rawBody }: WebhookRequest, { locationId, messageId }: Fields): MessageName => ({
  kind: 'outbound',
  locationId: locationId ?? '',
  id: messageId ?? `sha256:${hash('sha256', rawBody)}`,
});

type LimitRate = (request: {
  readonly locationId: string | undefined;
  readonly address: string;
}) => Promise<Verdict> | Verdict;

/** Counts a signed request by location, or by address when the location id is missing or malformed (L1, L3). */
function rateLimit({ limits, settings }: Pick<OutboundDeps, 'limits' | 'settings'>): LimitRate {
  const perMinute = { max: settings.webhookPerMinute, windowSec: 60 };
  const byLocation: Limit = { name: 'webhook', ...perMinute };
  const byAddress: Limit = { name: 'webhook-address', ...perMinute };
  return ({ locationId, address }) =>
    locationId === undefined || (settings.validateLocationId && !isLimiterLocationId(locationId))
      ? limits.take(byAddress, address)
      : limits.take(byLocation, locationId);
}

export interface ForwardDeps {
  readonly switchboard: Pick<Switchboard, 'send'>;
  readonly log: Log;
  readonly failpoint: Failpoint | undefined;
  readonly clock: Clock;
  readonly metrics: Pick<Metrics, 'routed'>;
  /** A text was forwarded to a Mac. */
  readonly forwarded: Occurrence<[locationId: LocationId, frame: SendFrame]>;
}

/** W16, W18. Nothing is queued, and nothing goes to another Mac. Resolves with undefined when the frame was written. */
export async function forward(
  locationId: LocationId,
  frame: SendFrame,
  { switchboard, log, failpoint, clock, metrics, forwarded }: ForwardDeps,
): Promise<Unsent | undefined> {
  try {
    if (failpoint !== undefined) await failOnRequest(failpoint);
    const since = clock.monotonic();
    const outcome = await switchboard.send(locationId, frame);
    if (outcome === 'written') {
      forwarded.happened(locationId, frame);
      metrics.routed((clock.monotonic() - since) / 1000);
    }
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
