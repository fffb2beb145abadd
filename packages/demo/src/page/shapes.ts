import type { Exchange, HttpExchange, Leg } from '../wire/exchange.ts';

export type { Exchange, HttpExchange, Leg };

/** `GET /about` */
export interface About {
  readonly locationId: string;
  readonly contactId: string;
  readonly customer: string;
  readonly friend: string;
  readonly publicKey: string;
  readonly serviceUrl: string;
  readonly crmUrl: string;
  readonly breaks: readonly { readonly id: string; readonly title: string; readonly promise: string }[];
}

interface PhoneFile {
  readonly name: string;
  readonly mime: string;
  readonly size: number;
  readonly sha256: string;
}

export interface PhoneReaction {
  readonly from: string;
  readonly kind: string;
  readonly type?: string;
  readonly emoji?: string;
  readonly sticker?: { readonly name: string; readonly mime: string };
}

/** `from` is `me` for what the Mac sent: on the customer's phone that is the other side. */
export interface PhoneMessage {
  readonly guid: string;
  readonly from: string;
  readonly text: string;
  readonly service: string;
  readonly effect?: string;
  readonly replyTo?: string;
  readonly attachments: readonly PhoneFile[];
  readonly voice?: { readonly durationMs?: number; readonly mime: string };
  readonly sticker?: { readonly name: string; readonly mime: string };
  readonly reactions: readonly PhoneReaction[];
  readonly state: string;
}

export interface PhoneChat {
  readonly id: number;
  readonly isGroup: boolean;
  readonly recipients: readonly string[];
  readonly messages: readonly PhoneMessage[];
}

/** The event `phone` */
export interface Phone {
  readonly macos: string;
  readonly chats: readonly PhoneChat[];
}

/** The event `inbox`: what the CRM stored, what it was told, and what it sent. */
export interface Inbox {
  readonly messages: readonly StoredMessage[];
  readonly statuses: readonly StatusCall[];
  readonly webhooks: readonly SentWebhook[];
}

interface StoredMessage {
  readonly messageId: string;
  readonly contactId: string;
  readonly locationId: string;
  readonly message: string;
  readonly attachments: readonly string[];
  readonly at: number;
}

export interface StatusCall {
  readonly messageId: string;
  readonly status: string;
  readonly accepted: boolean;
  readonly acceptedAs?: number;
  readonly error?: { readonly code?: unknown; readonly message?: unknown };
}

export interface SentWebhook {
  readonly messageId?: string;
  readonly body: string;
  readonly at: number;
  readonly status?: number;
  readonly answer?: unknown;
  readonly error?: string;
}

/** A file that the page makes or a person picks. */
export interface GivenFile {
  readonly name: string;
  readonly mime: string;
  readonly base64: string;
}
