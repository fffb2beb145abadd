import { errorResponses } from './error-responses.ts';
import { object, schemaRef, text } from './json-schema.ts';
import type { JsonSchema } from './json-schema.ts';

const json = (schema: JsonSchema) => ({ 'application/json': { schema } });
const jsonResponse = (description: string, schema: JsonSchema, headers?: JsonSchema): JsonSchema => ({
  description,
  ...(headers !== undefined && { headers }),
  content: json(schema),
});

export function oauthPaths(): Record<string, JsonSchema> {
  const code = object({ code: text('The authorization code.') });
  const operation = (operationId: string, more: JsonSchema): JsonSchema => ({
    operationId,
    summary: 'Install or re-authorise the app',
    tags: ['CRM to service'],
    security: [],
    ...more,
    responses: {
      200: {
        description: 'The tokens were stored, encrypted.',
        content: { ...json(schemaRef('Installed')), 'text/html': { schema: { type: 'string' } } },
      },
      ...errorResponses('oauth', [
        'INVALID_REQUEST',
        'OAUTH_EXCHANGE_FAILED',
        'OAUTH_NOT_CONFIGURED',
        'OAUTH_DISABLED',
        'TOO_MANY_REQUESTS',
      ]),
    },
  });
  return {
    '/oauth/callback/crm': {
      get: operation('installByRedirect', {
        parameters: [{ name: 'code', in: 'query', required: true, schema: { type: 'string' } }],
      }),
      post: operation('installByPost', {
        requestBody: { content: { ...json(code), 'application/x-www-form-urlencoded': { schema: code } } },
      }),
    },
  };
}

export function healthPaths(): Record<string, JsonSchema> {
  const health = { oneOf: [schemaRef('Health'), schemaRef('HealthProbe')] };
  return {
    '/health': {
      get: {
        operationId: 'health',
        summary: 'Health of the service',
        tags: ['Operation'],
        security: [],
        parameters: [
          {
            name: 'pm2',
            in: 'query',
            required: false,
            description: 'With any value: a cheap probe with its own rate limit.',
            schema: { type: 'string' },
          },
        ],
        responses: {
          200: jsonResponse('The service is healthy.', health),
          503: jsonResponse('A dependency is unavailable.', schemaRef('Health')),
          ...errorResponses('webhook', ['TOO_MANY_REQUESTS']),
        },
      },
    },
  };
}

export function deprecatedPaths(): Record<string, JsonSchema> {
  const value = (description: string) => ({ schema: { type: 'string' }, description });
  const headers = {
    Deprecation: value('When the path was deprecated.'),
    Sunset: value('When the path was removed.'),
    Link: value('Where the change is documented.'),
  };
  const gone = (operationId: string): JsonSchema => ({
    post: {
      operationId,
      summary: 'Gone; use POST /crm/webhook',
      deprecated: true,
      tags: ['CRM to service'],
      security: [],
      responses: { 410: jsonResponse('The path was removed.', schemaRef('Gone'), headers) },
    },
  });
  return { '/send-message': gone('sendMessageLegacy'), '/crm/send-message': gone('crmSendMessageLegacy') };
}

export function macPaths(): Record<string, JsonSchema> {
  const device = [{ deviceToken: [] }];
  const errors = (...codes: string[]) => errorResponses('enrolment', codes);
  return {
    '/mac/activate': {
      post: {
        operationId: 'activateMac',
        summary: 'Take a seat of a license',
        tags: ['Macs'],
        security: [],
        requestBody: { required: true, content: json(schemaRef('Activation')) },
        responses: {
          200: jsonResponse(
            'The device was already active; its previous token is now invalid.',
            schemaRef('Activated'),
          ),
          201: jsonResponse('Activated.', schemaRef('Activated')),
          ...errors(
            'INVALID_REQUEST',
            'LICENSE_INVALID',
            'LICENSE_SUSPENDED',
            'SEATS_EXHAUSTED',
            'TOO_MANY_REQUESTS',
          ),
        },
      },
    },
    '/mac/pair': {
      post: {
        operationId: 'pairMac',
        summary: 'Exchange a pairing code for a seat and a location',
        tags: ['Macs'],
        security: [],
        requestBody: { required: true, content: json(schemaRef('Pairing')) },
        responses: {
          200: jsonResponse(
            'The device was already active; its previous token is now invalid.',
            schemaRef('Paired'),
          ),
          201: jsonResponse('Activated.', schemaRef('Paired')),
          ...errors(
            'INVALID_REQUEST',
            'PAIRING_CODE_INVALID',
            'PAIRING_CODE_USED',
            'PAIRING_CODE_EXPIRED',
            'LICENSE_INVALID',
            'LICENSE_SUSPENDED',
            'SEATS_EXHAUSTED',
            'TOO_MANY_REQUESTS',
          ),
        },
      },
    },
    '/mac/deactivate': {
      post: {
        operationId: 'deactivateMac',
        summary: 'Release the seat',
        tags: ['Macs'],
        security: device,
        responses: {
          204: { description: 'The seat is free and the token is invalid.' },
          ...errors('UNAUTHORIZED', 'TOO_MANY_REQUESTS'),
        },
      },
    },
    '/mac/socket': {
      get: {
        operationId: 'connectMac',
        summary: 'The WebSocket of a Mac',
        description: 'Its frames are described in a separate AsyncAPI document.',
        tags: ['Macs'],
        security: device,
        responses: {
          101: { description: 'The connection now uses the protocol footbridge.v1.' },
          ...errors(
            'UNAUTHORIZED',
            'LICENSE_SUSPENDED',
            'UPGRADE_REQUIRED',
            'TOO_MANY_REQUESTS',
            'SERVICE_UNAVAILABLE',
          ),
        },
      },
    },
    '/mac/assets': {
      post: {
        operationId: 'storeAsset',
        summary: 'Store a file that the Mac received',
        tags: ['Macs'],
        security: device,
        parameters: [{ name: 'X-File-Name', in: 'header', required: false, schema: { type: 'string' } }],
        requestBody: { required: true, content: { '*/*': { schema: { type: 'string', format: 'binary' } } } },
        responses: {
          201: jsonResponse('Stored.', schemaRef('StoredAsset')),
          ...errors('UNAUTHORIZED', 'PAYLOAD_TOO_LARGE', 'UNSUPPORTED_MEDIA_TYPE', 'INSUFFICIENT_STORAGE'),
        },
      },
    },
    '/assets/{id}/{name}': {
      get: {
        operationId: 'readAsset',
        summary: 'A stored file',
        tags: ['CRM to service'],
        security: [],
        parameters: ['id', 'name'].map((name) => ({
          name,
          in: 'path',
          required: true,
          schema: { type: 'string' },
        })),
        responses: {
          200: {
            description: 'The file.',
            content: { '*/*': { schema: { type: 'string', format: 'binary' } } },
          },
          206: {
            description: 'The requested part of the file.',
            content: { '*/*': { schema: { type: 'string', format: 'binary' } } },
          },
          ...errorResponses('webhook', ['NOT_FOUND']),
        },
      },
    },
  };
}
