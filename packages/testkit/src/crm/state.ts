import type { CrmResponse } from './responses.ts';
import type { ContactStore } from './contact-store.ts';
import type { TokenIdentity, Grants } from './grants.ts';
import type { Call, CrmSettings, SentWebhook, StatusCall, StoredMessage, Upload } from './types.ts';

/** A message that the CRM sent by webhook and whose status it expects. */
export interface SentMessage {
  readonly messageId: string;
  readonly locationId: string | undefined;
  readonly conversationId: string;
  readonly createdAt: number;
}

/** The state of the simulated CRM, shared by its routes. */
export interface CrmState {
  readonly settings: CrmSettings;
  readonly now: () => number;
  readonly grants: Grants;
  readonly contacts: ContactStore;
  readonly sentMessages: Map<string, SentMessage>;
  readonly byIdempotencyKey: Map<string, CrmResponse>;
  calls: Call[];
  messages: StoredMessage[];
  statuses: StatusCall[];
  webhooks: SentWebhook[];
  uploads: Upload[];
  acceptances: number;
}

/** The input of a route's handler: the call, the parsed body and the identity of the token. */
export interface HandlerRequest {
  readonly call: Call;
  readonly body: unknown;
  readonly identity: TokenIdentity | undefined;
  readonly statusCall: StatusCall | undefined;
}

export type Handler = (state: CrmState, request: HandlerRequest) => CrmResponse;
