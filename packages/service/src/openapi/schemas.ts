import { MAX_ATTACHMENTS } from '@footbridge/protocol/frames';

import { list, object, text } from './json-schema.ts';
import type { JsonSchema } from './json-schema.ts';

const locationId = text('One tenant of the CRM; the key by which everything is routed.');
const url = text('Absolute http or https address.', { format: 'uri', maxLength: 2048 });

/** What travels between a CRM and the service, by name. */
export const SCHEMAS: Readonly<Record<string, JsonSchema>> = {
  OutboundMessage: {
    ...object(
      {
        locationId,
        contactId: text('Recipient in the CRM.', { maxLength: 1024 }),
        message: text('The text, counted in UTF-16 units; may end with a metadata footer.'),
        attachments: list(url, {
          description: 'Addresses of files, with or instead of message.',
          maxItems: MAX_ATTACHMENTS,
        }),
        messageId: text('Names the message in status calls. Without it there are none.', { maxLength: 256 }),
        phone: text('Recipient. May be left out when the CRM can tell the phone of contactId.'),
        type: text('SMS, or left out.', { enum: ['SMS'] }),
        userId: text('Who sent it in the CRM. Noted, not interpreted.'),
      },
      ['locationId', 'contactId'],
    ),
    anyOf: [{ required: ['message'] }, { required: ['attachments'] }],
  },
  Sent: object({
    status: text('', { const: 'success' }),
    requestId: text('Names the request in the journal and the log. A UUIDv7.', { format: 'uuid' }),
    message: text('A sentence that names the channel.'),
    messageId: { type: ['string', 'null'], description: 'As it was sent.' },
    locationId,
  }),
  InvalidSignature: object({
    error: text('The same for a missing and for a wrong signature.', { const: 'Invalid signature' }),
  }),
  Health: object({
    status: text('', { enum: ['ok', 'fail'] }),
    version: text('Of the service.'),
    uptimeSec: { type: 'integer' },
    checks: { type: 'object', additionalProperties: text('', { enum: ['ok', 'fail'] }) },
  }),
  HealthProbe: object({ status: text('', { const: 'ok' }) }),
  Installed: object({ status: text('', { const: 'success' }) }),
  Gone: object({
    error: text(''),
    code: text('', { const: 'GONE' }),
    message: text(''),
    replacement: text('The path to use.'),
  }),
  Activation: object({
    licenseKey: text('Given to the owner of the Mac by the operator.'),
    deviceId: text('Stable name of the Mac.', { pattern: '^[A-Za-z0-9._:-]{8,128}$' }),
    name: text('What people call the Mac.'),
    osVersion: text('Of macOS.'),
    appVersion: text('Of the client.'),
  }),
  Activated: object({
    deviceToken: text('Shown once.'),
    seats: object({ used: { type: 'integer' }, max: { type: 'integer' } }),
  }),
  StoredAsset: object({ url }),
  InboundMessage: object(
    {
      type: text('SMS for iMessage, SMS and RCS alike, unless the operator set another.'),
      contactId: text('Found by the phone or address of the sender.'),
      locationId,
      message: text(
        'The text; groups, voice, reactions, stickers, animations and replies end with a metadata footer.',
      ),
      attachments: list(url, { description: 'Left out when there are none.' }),
      conversationProviderId: text('Only when the operator set one.'),
    },
    ['type', 'contactId', 'locationId', 'message'],
  ),
  StatusUpdate: object(
    {
      status: text('', { enum: ['pending', 'delivered', 'failed'] }),
      error: object({
        code: text('See the catalogue of codes; the set is open.'),
        type: text('', { const: 'error' }),
        message: text('For people.'),
      }),
      messageGuid: text(
        'The GUID of the sent message. Only with delivered, and only when the operator enabled it.',
      ),
    },
    ['status'],
  ),
};
