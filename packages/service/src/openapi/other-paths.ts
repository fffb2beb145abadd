import { errorResponses } from './error-responses.ts';
import { object, schemaRef, text } from './json-schema.ts';
import type { JsonSchema } from './json-schema.ts';

const json = (schema: JsonSchema) => ({ 'application/json': { schema } });
const answer = (description: string, schema: JsonSchema, headers?: JsonSchema): JsonSchema => ({
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
        description: 'Tokens are stored, encrypted.',
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
        summary: 'Whether the service can do its work',
        tags: ['Operation'],
        security: [],
        parameters: [
          {
            name: 'pm2',
            in: 'query',
            required: false,
            description: 'With any value: a cheap probe with a limit of its own.',
            schema: { type: 'string' },
          },
        ],
        responses: {
          200: answer('It can.', health),
          503: answer('A part that it needs is away.', schemaRef('Health')),
          ...errorResponses('webhook', ['TOO_MANY_REQUESTS']),
        },
      },
    },
  };
}

export function deprecatedPaths(): Record<string, JsonSchema> {
  const value = (description: string) => ({ schema: { type: 'string' }, description });
  const headers = {
    Deprecation: value('When it was deprecated.'),
    Sunset: value('When it was switched off.'),
    Link: value('Where that is explained.'),
  };
  const gone = (operationId: string): JsonSchema => ({
    post: {
      operationId,
      summary: 'Gone; use POST /crm/webhook',
      deprecated: true,
      tags: ['CRM to service'],
      security: [],
      responses: { 410: answer('Switched off.', schemaRef('Gone'), headers) },
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
          200: answer('The device was active already; its former token is dead.', schemaRef('Activated')),
          201: answer('Activated.', schemaRef('Activated')),
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
    '/mac/deactivate': {
      post: {
        operationId: 'deactivateMac',
        summary: 'Give the seat back',
        tags: ['Macs'],
        security: device,
        responses: {
          204: { description: 'The seat is free and the token dead.' },
          ...errors('UNAUTHORIZED', 'TOO_MANY_REQUESTS'),
        },
      },
    },
    '/mac/socket': {
      get: {
        operationId: 'connectMac',
        summary: 'The WebSocket of a Mac',
        description: 'Its frames are described in an AsyncAPI document of their own.',
        tags: ['Macs'],
        security: device,
        responses: {
          101: { description: 'The protocol is footbridge.v1 from here on.' },
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
          201: answer('Stored.', schemaRef('StoredAsset')),
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
            description: 'A part of it.',
            content: { '*/*': { schema: { type: 'string', format: 'binary' } } },
          },
          ...errorResponses('webhook', ['NOT_FOUND']),
        },
      },
    },
  };
}
