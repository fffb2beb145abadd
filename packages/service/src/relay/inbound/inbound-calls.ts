import { readJson } from '@footbridge/protocol/read-json';
import { isObject } from '@footbridge/protocol/schema';
import type { Attempt, SendGuard } from '../../platform/retry/retry.ts';
import { failed, succeeded } from '../../platform/retry/retry.ts';
import type { CrmClient } from '../crm/crm-client.ts';

export interface InboundMessage {
  readonly locationId: string;
  readonly contactId: string;
  readonly message: string;
  readonly attachments: readonly string[];
  readonly guid: string;
  readonly idempotencyKey: string;
  /** `outbound`: the owner of the Mac sent it to the contact. */
  readonly direction: 'inbound' | 'outbound';
}

/** `POST …/inbound`. One attempt; never rejects. */
export interface InboundCalls {
  /** Resolves with the CRM's id of the message. */
  post(message: InboundMessage, guard: SendGuard): Promise<Attempt<string>>;
}

export interface InboundShape {
  /** `SMS`, or the type an added channel requires. */
  readonly type: string;
  readonly conversationProviderId: string | undefined;
  /** Whether to send the GUID of the message, which the CRM returns when a user replies to it. */
  readonly sendAltId: boolean;
}

/** `POST /conversations/messages/inbound` (I1). */
export function createInboundCalls(client: CrmClient, shape: InboundShape): InboundCalls {
  const { type, conversationProviderId, sendAltId } = shape;
  return {
    post: ({ locationId, contactId, message, attachments, guid, idempotencyKey, direction }, guard) =>
      client.attempt(
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
            ...(sendAltId && { altId: guid }),
            ...(direction === 'outbound' && { direction }),
          }),
          idempotencyKey,
          read: readMessageId,
        },
        guard,
      ),
  };
}

/** The real CRM has returned 201 with an empty body when it stored nothing. Others may have stored the message: it is in doubt (I9). */
function readMessageId(text: string, status: number): Attempt<string> {
  const body = readJson(text);
  const id = isObject(body) ? (body['messageId'] ?? body['id']) : undefined;
  // Some CRMs number their messages.
  return (typeof id === 'string' && id !== '') || typeof id === 'number'
    ? succeeded(String(id))
    : failed('empty', {
        status,
        reason: 'the response does not confirm that the message was stored',
        inDoubt: true,
      });
}
