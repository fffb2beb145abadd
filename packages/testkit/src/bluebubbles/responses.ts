import type { KnownChat, KnownMessage } from './store-reader.ts';

export interface Reply {
  readonly status: number;
  readonly body: object;
}

/** A call that ends with an error response. */
export class CallError extends Error {
  readonly reply: Reply;

  constructor(reply: Reply) {
    super(`status ${reply.status}`);
    this.reply = reply;
  }
}

export function success(message: string, data: unknown): Reply {
  return { status: 200, body: { status: 200, message, data, metadata: undefined } };
}

export function failure(status: number, message: string, type: string, error: string): Reply {
  return { status, body: { status, message, error: { type, message: error } } };
}

export const unauthorized = (error: string): Reply =>
  failure(401, 'You are not authorized to access this resource', 'Authentication Error', error);

export const invalid = (error: string): Reply =>
  failure(
    400,
    "You've made a bad request! Please check your request params & body",
    'Validation Error',
    error,
  );

/** What a route responds when the Private API did not do its work. Only sends have an error class of their own. */
export function refused(route: string, error: string): Reply {
  if (route === 'new_chat') return failure(500, 'An unhandled error has occurred!', 'Server Error', error);
  const title = route === 'text' || route === 'attachment' ? 'Message Send Error' : 'iMessage Error';
  return failure(500, title, 'iMessage Error', error);
}

/** A message as the server describes it. Whether it was sent, and by which service, is not in it. */
export function messageData(row: KnownMessage, tempGuid: string | undefined): object {
  return {
    originalROWID: row.rowid,
    guid: row.guid,
    text: row.text ?? '',
    attributedBody: null,
    handle: null,
    attachments: [],
    error: row.error,
    dateCreated: Date.now(),
    dateRead: null,
    dateDelivered: null,
    isFromMe: true,
    itemType: 0,
    ...(tempGuid !== undefined && { tempGuid }),
  };
}

export function chatData(chat: KnownChat, message: KnownMessage): object {
  return {
    originalROWID: chat.rowid,
    guid: chat.guid,
    style: chat.style,
    chatIdentifier: chat.guid.split(';').at(-1),
    isArchived: false,
    displayName: '',
    participants: chat.members.map((address) => ({ address })),
    messages: [messageData(message, undefined)],
  };
}
