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

/** A message as the CRM shows it. */
export interface StoredMessage {
  readonly id: string;
  readonly isInbound: boolean;
  readonly text: string;
  readonly attachments: readonly string[];
  /** By our clock, at the latest: the difference to the CRM's is taken from the `Date` header of the same response. */
  readonly addedAt: number;
}

export interface MessagePage {
  /** The newest first. */
  readonly messages: readonly StoredMessage[];
  readonly hasMore: boolean;
}

/** The CRM's conversations. One attempt each; none rejects. */
export interface ConversationCalls {
  /** Resolves with all conversations of the contact, usually one. */
  find(locationId: string, contactId: string, guard: SendGuard): Promise<Attempt<readonly string[]>>;
  /** Resolves with the newest messages, or those before the message with the id `before`. */
  messages(
    locationId: string,
    conversationId: string,
    before: string | undefined,
    guard: SendGuard,
  ): Promise<Attempt<MessagePage>>;
}
