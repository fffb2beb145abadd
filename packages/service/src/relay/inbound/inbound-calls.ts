import type { Attempt, SendGuard } from '../../platform/retry/attempt.ts';

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
