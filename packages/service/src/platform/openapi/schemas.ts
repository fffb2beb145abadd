import { MAX_ATTACHMENTS } from '@footbridge/protocol/frames';

import { list, object, text } from './json-schema.ts';
import type { JsonSchema } from './json-schema.ts';

const locationId = text('The tenant of the CRM; messages are routed by it.');
const url = text('An absolute http or https URL.', { format: 'uri', maxLength: 2048 });

/** The bodies of requests and responses, by name. */
export const SCHEMAS: Readonly<Record<string, JsonSchema>> = {
  OutboundMessage: {
    ...object(
      {
        locationId,
        contactId: text('The recipient in the CRM.', { maxLength: 1024 }),
        message: text(
          'The text, which may end with a metadata footer. Its length is counted in UTF-16 code units.',
        ),
        attachments: list(url, {
          description: 'URLs of files, with or without a message.',
          maxItems: MAX_ATTACHMENTS,
        }),
        messageId: text('The id of the message in status calls. Without it there are none.', {
          maxLength: 256,
        }),
        phone: text('The recipient. May be omitted if the CRM has a phone for contactId.'),
        type: text('SMS, or omitted.', { enum: ['SMS'] }),
        userId: text('The CRM user who sent the message. Recorded, not interpreted.'),
      },
      ['locationId', 'contactId'],
    ),
    anyOf: [{ required: ['message'] }, { required: ['attachments'] }],
  },
  Sent: object({
    status: text('', { const: 'success' }),
    requestId: text('The id of the request in the journal and the log, a UUIDv7.', { format: 'uuid' }),
    message: text('A sentence that names the channel.'),
    messageId: { type: ['string', 'null'], description: 'As in the request.' },
    locationId,
  }),
  AppEvent: object(
    {
      type: text('The kind of event, such as INSTALL or UNINSTALL.', { maxLength: 100 }),
      locationId: text('The location that the event is about. Without one it is about the company.', {
        maxLength: 256,
      }),
      companyId: text('The company of the location.', { maxLength: 256 }),
      timestamp: text(
        'When it happened. Without a time the event may be late or a copy: UNINSTALL then takes effect only if the CRM rejects the token, and no opt-out ends.',
        {
          format: 'date-time',
        },
      ),
    },
    ['type'],
  ),
  InvalidSignature: object({
    error: text('The same for a missing and an invalid signature.', { const: 'Invalid signature' }),
  }),
  Health: object({
    status: text('', { enum: ['ok', 'fail'] }),
    version: text('The version of the service.'),
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
    licenseKey: text('The license key, which the operator gives to the owner of the Mac.'),
    deviceId: text('A stable id of the Mac.', { pattern: '^[A-Za-z0-9._:-]{8,128}$' }),
    name: text('A name of the Mac for people.'),
    osVersion: text('The version of macOS.'),
    appVersion: text('The version of the agent.'),
  }),
  Activated: object({
    deviceToken: text('Shown once.'),
    seats: object({ used: { type: 'integer' }, max: { type: 'integer' } }),
  }),
  Pairing: object({
    code: text('The pairing code, which the operator gives to the owner of the Mac.'),
    deviceId: text('A stable id of the Mac.', { pattern: '^[A-Za-z0-9._:-]{8,128}$' }),
    name: text('A name of the Mac for people.'),
    osVersion: text('The version of macOS.'),
    appVersion: text('The version of the agent.'),
  }),
  Paired: object({
    deviceToken: text('Shown once.'),
    seats: object({ used: { type: 'integer' }, max: { type: 'integer' } }),
    locationId,
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
      attachments: list(url, { description: 'Omitted when there are none.' }),
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
