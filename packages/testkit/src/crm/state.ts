import type { Answer } from './answers.ts';
import type { AddressBook } from './address-book.ts';
import type { Bearer, Grants } from './grants.ts';
import type { Call, CrmSettings, SentWebhook, StatusCall, StoredMessage, Upload } from './shapes.ts';

/** A message of the CRM's own, sent out by webhook: what status calls are about. */
export interface OwnMessage {
  readonly messageId: string;
  readonly locationId: string | undefined;
  readonly conversationId: string;
  readonly createdAt: number;
}

/** Everything the CRM knows, shared by its routes. */
export interface CrmState {
  readonly settings: CrmSettings;
  readonly now: () => number;
  readonly grants: Grants;
  readonly book: AddressBook;
  readonly ownMessages: Map<string, OwnMessage>;
  readonly byIdempotencyKey: Map<string, Answer>;
  calls: Call[];
  messages: StoredMessage[];
  statuses: StatusCall[];
  webhooks: SentWebhook[];
  uploads: Upload[];
  acceptances: number;
}

/** What a route's handler gets: the call, the parsed body, and who is asking. */
export interface Asked {
  readonly call: Call;
  readonly body: unknown;
  readonly bearer: Bearer | undefined;
  readonly statusCall: StatusCall | undefined;
}

export type Handle = (state: CrmState, asked: Asked) => Answer;
