import { schemaRef } from './json-schema.ts';
import type { JsonSchema } from './json-schema.ts';

const VERSION = {
  name: 'Version',
  in: 'header',
  required: true,
  schema: { type: 'string', const: '2021-07-28' },
};
const IDEMPOTENCY = {
  name: 'Idempotency-Key',
  in: 'header',
  required: false,
  description: 'The same for every attempt to deliver one message.',
  schema: { type: 'string' },
};

/** The calls that the service makes to the CRM. */
export function crmCalls(): Record<string, JsonSchema> {
  const call = (schema: string): JsonSchema => ({
    tags: ['Service to CRM'],
    security: [{ crmToken: [] }],
    requestBody: { required: true, content: { 'application/json': { schema: schemaRef(schema) } } },
  });
  return {
    inboundMessage: {
      post: {
        operationId: 'deliverInbound',
        summary: 'A message that a Mac received: POST /conversations/messages/inbound',
        parameters: [VERSION, IDEMPOTENCY],
        ...call('InboundMessage'),
        responses: {
          200: {
            description: 'Stored. A response without the id of the stored message counts as not stored.',
          },
        },
      },
    },
    statusUpdate: {
      put: {
        operationId: 'reportStatus',
        summary: 'The status of a message: PUT /conversations/messages/{messageId}/status',
        parameters: [VERSION],
        ...call('StatusUpdate'),
        responses: { 200: { description: 'Accepted.' } },
      },
    },
  };
}
