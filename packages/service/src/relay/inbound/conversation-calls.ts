import type { Attempt, SendGuard } from '../../platform/retry/attempt.ts';

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
