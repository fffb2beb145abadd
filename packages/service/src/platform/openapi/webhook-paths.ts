import { CODES } from '@footbridge/protocol/codes';

import { RATE_HEADERS, REQUEST_ID, errorResponses } from './error-responses.ts';
import { schemaRef } from './json-schema.ts';
import type { JsonSchema } from './json-schema.ts';

const PAGE = {
  description:
    'An HTML page: malformed JSON (400), more than 1 MiB (413), an encoded body or another charset (415).',
  headers: REQUEST_ID,
  content: { 'text/html': { schema: { type: 'string' } } },
};

const UNSIGNED = {
  description: 'The signature is missing, invalid, or by a key that is not trusted.',
  headers: REQUEST_ID,
  content: { 'application/json': { schema: schemaRef('InvalidSignature') } },
};

// GONE and NOT_FOUND belong to other paths.
const WEBHOOK_CODES = CODES.filter(({ channel }) => channel === 'webhook')
  .map(({ code }) => code)
  .filter((code) => code !== 'GONE' && code !== 'NOT_FOUND');

/** The three paths share one behaviour (W1). */
export function webhookPaths(): Record<string, JsonSchema> {
  const errors = errorResponses('webhook', WEBHOOK_CODES);
  const { 400: badRequest = {} } = errors;
  const operation = (operationId: string, service: string): JsonSchema => ({
    post: {
      operationId,
      summary: `Send a message by ${service}`,
      description:
        'Forwards the message to the one Mac that is connected for the location. 200 means that it was written to the socket of that Mac; status calls report the outcome. Nothing is queued.',
      tags: ['CRM to service'],
      security: [{ signature: [] }, { legacySignature: [] }],
      requestBody: {
        required: true,
        content: { 'application/json': { schema: schemaRef('OutboundMessage') } },
      },
      responses: {
        200: {
          description: 'The message was written to the socket of the Mac.',
          headers: { ...REQUEST_ID, ...RATE_HEADERS },
          content: { 'application/json': { schema: schemaRef('Sent') } },
        },
        ...errors,
        400: { ...badRequest, content: { ...(badRequest['content'] as object), ...PAGE.content } },
        401: UNSIGNED,
        413: PAGE,
        415: PAGE,
      },
    },
  });
  return {
    '/crm/webhook': operation('sendMessage', 'iMessage'),
    '/crm/webhook/imessage': operation('sendByIMessage', 'iMessage'),
    '/crm/webhook/sms': operation('sendBySms', 'SMS'),
  };
}

/** Events of the CRM about the app and its contacts (E1, E4). */
export function appEventPaths(): Record<string, JsonSchema> {
  return {
    '/crm/events': {
      post: {
        operationId: 'receiveAppEvent',
        summary: 'Receive an event about the app or a contact',
        description:
          'INSTALL, UNINSTALL and ContactDndUpdate take effect; every other event is accepted and ignored. Events may be repeated and may arrive in any order.',
        tags: ['CRM to service'],
        security: [{ signature: [] }, { legacySignature: [] }],
        requestBody: { required: true, content: { 'application/json': { schema: schemaRef('AppEvent') } } },
        responses: {
          200: {
            description: 'The event was recorded.',
            headers: REQUEST_ID,
            content: { 'application/json': { schema: schemaRef('Installed') } },
          },
          401: UNSIGNED,
          ...errorResponses('oauth', ['INVALID_REQUEST']),
          ...errorResponses('webhook', ['SERVICE_UNAVAILABLE']),
        },
      },
    },
  };
}
