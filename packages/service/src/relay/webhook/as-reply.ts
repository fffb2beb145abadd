import { carriesFooter, writeFooter } from '@footbridge/protocol/footer';

/** Makes the message a reply to the message with this GUID. A footer written by the CRM takes precedence. */
export function asReply(message: string | null, guid: string | undefined): string | null {
  if (guid === undefined || message === null || carriesFooter(message)) return message;
  return writeFooter(message, { reply_to: { message_guid: guid } });
}
