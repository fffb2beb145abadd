import type { SendFrame } from '@footbridge/protocol/frames';
import type { LocationId } from '@footbridge/protocol/ids';

import type { Journal } from '../../ports/journal/journal.ts';
import { internalError, invalidSignature, refused, sent, tooManyRequests } from './answer.ts';
import type { WebhookAnswer } from './answer.ts';
import { checkAttachments } from './check-attachments.ts';
import { checkContentType } from './check-content-type.ts';
import { checkLength } from './check-length.ts';
import { phoneCheck } from './check-phone.ts';
import type { CheckPhone } from './check-phone.ts';
import { checkShape } from './check-shape.ts';
import { checkType } from './check-type.ts';
import { forward } from './forward.ts';
import type { ForwardParts } from './forward.ts';
import { recordAccepted, recordRefused, recordUnsent } from './keep-record.ts';
import type { Received } from './keep-record.ts';
import { rateLimit } from './limit-rate.ts';
import type { RateParts } from './limit-rate.ts';
import type { Contacts, LookUpParts } from './look-up-phone.ts';
import { pickFields } from './pick-fields.ts';
import { Refusal } from './refusal.ts';
import { requireFields } from './require-fields.ts';
import { tellCrm } from './tell-crm.ts';
import type { StatusReports } from './tell-crm.ts';
import { SignatureCheck } from './verify-signature.ts';
import type { SignatureParts } from './verify-signature.ts';
import type { WebhookRequest } from './webhook-request.ts';

export interface OutboundParts
  extends Omit<SignatureParts, 'unsignedPerMinute'>, RateParts, LookUpParts, ForwardParts {
  readonly contacts: Contacts;
  readonly reports: StatusReports;
  readonly journal: Journal;
  readonly settings: RateParts['settings'] & {
    readonly unsignedPerMinute: number;
    readonly messageMaxLength: number;
    readonly phoneDefaultCountry: string;
  };
}

export type ReceiveWebhook = (request: WebhookRequest) => Promise<WebhookAnswer>;

/**
 * One outbound message, from the signature to the Mac, in the order of W17. The answer waits for no callback: refusals are told to
 * the CRM from here (A7), `pending` and what follows by the node that holds the Mac's socket (A2).
 */
export function receiveWebhook(parts: OutboundParts): ReceiveWebhook {
  const { settings, contacts, reports, journal, log } = parts;
  const signatures = new SignatureCheck({ ...parts, unsignedPerMinute: settings.unsignedPerMinute });
  const limitRate = rateLimit(parts);
  const checkPhone = phoneCheck(settings.phoneDefaultCountry);

  async function receive(request: WebhookRequest): Promise<WebhookAnswer> {
    const { requestId, channel, body, address } = request;
    const fields = pickFields(body);

    const signature = await signatures.verify(request, fields.locationId);
    if (!signature.ok) return invalidSignature(signature.fault);

    const rate = await limitRate({ locationId: fields.locationId, address });
    if (!rate.allowed) return tooManyRequests(rate);

    const received = { request, fields, key: signature.key };
    const checked = await checkMessage(received, checkPhone, parts);
    if (checked instanceof Refusal) {
      recordRefused(journal, received, checked);
      tellCrm(reports, requestId, fields, checked);
      return refused(checked, rate);
    }

    const { locationId, frame } = checked;
    // Before it is sent: the Mac may have answered by the time we know that it was.
    recordAccepted(journal, received, locationId, frame.phone);
    const unsent = await forward(locationId, frame, parts);
    if (unsent !== undefined) {
      recordUnsent(journal, received, unsent);
      tellCrm(reports, requestId, fields, unsent);
      return refused(unsent, rate);
    }
    contacts.learn(locationId, frame.phone, frame.contactId);
    return sent({ requestId, channel, messageId: fields.givenMessageId, locationId }, rate);
  }

  return (request) =>
    receive(request).catch((error: unknown) => {
      log.error({ requestId: request.requestId, err: error }, 'a webhook failed');
      return internalError(request.requestId);
    });
}

/** Everything that can be wrong with a signed message, first things first; what is left is fit for the Mac. */
async function checkMessage(
  { request, fields }: Received,
  checkPhone: CheckPhone,
  parts: OutboundParts,
): Promise<{ locationId: LocationId; frame: SendFrame } | Refusal> {
  const unreadable = checkContentType(request.contentType) ?? checkShape(request.body) ?? checkType(fields);
  if (unreadable !== undefined) return unreadable;

  const complete = await requireFields(request.body, fields, parts);
  if (complete instanceof Refusal) return complete;
  const { locationId, contactId, message } = complete;

  const attachments = checkAttachments(complete.attachments);
  if (attachments instanceof Refusal) return attachments;

  const tooLong = checkLength(message, parts.settings.messageMaxLength);
  if (tooLong !== undefined) return tooLong;

  const phone = checkPhone(complete.phone);
  if (phone instanceof Refusal) return phone;

  const { requestId, channel } = request;
  const messageId = fields.messageId ?? null;
  return {
    locationId,
    frame: { type: 'send', requestId, messageId, contactId, phone, message, attachments, channel },
  };
}
