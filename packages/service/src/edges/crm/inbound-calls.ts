import { isObject } from '@footbridge/protocol/schema';

import type { InboundCalls } from '../../flows/inbound/crm-calls.ts';
import type { CrmClient } from './crm-client.ts';
import { readJson } from './crm-reason.ts';

export interface InboundShape {
  /** `SMS`, or what an added channel wants. */
  readonly type: string;
  readonly conversationProviderId: string | undefined;
}

/** `POST /conversations/messages/inbound` (I1). */
export function createInboundCalls(client: CrmClient, shape: InboundShape): InboundCalls {
  const { type, conversationProviderId } = shape;
  return {
    async post({ locationId, contactId, message, attachments, idempotencyKey }, patience) {
      const outcome = await client.call(
        {
          operation: 'inbound',
          locationId,
          bearer: 'any',
          method: 'POST',
          path: '/conversations/messages/inbound',
          body: JSON.stringify({
            type,
            contactId,
            locationId,
            message,
            ...(attachments.length > 0 && { attachments }),
            ...(conversationProviderId !== undefined && { conversationProviderId }),
          }),
          idempotencyKey,
          // The real one has answered 201 with nothing in it, and stored nothing.
          read: messageIdIn,
        },
        patience,
      );
      if (outcome.kind !== 'ok') return outcome;
      return { kind: 'posted', crmMessageId: outcome.text, inDoubt: outcome.inDoubt };
    },
  };
}

function messageIdIn(text: string): string | undefined {
  const body = readJson(text);
  const id = isObject(body) ? (body['messageId'] ?? body['id']) : undefined;
  // Some CRMs count their messages.
  return (typeof id === 'string' && id !== '') || typeof id === 'number' ? String(id) : undefined;
}
