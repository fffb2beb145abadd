import type { SendFrame } from '@footbridge/protocol/frames';
import { newRequestId } from '@footbridge/protocol/ids';

/** Returns a valid `send` frame with a new request id. */
export function sendFrame(fields: Partial<SendFrame> = {}): SendFrame {
  return {
    type: 'send',
    requestId: newRequestId(),
    messageId: 'message-1',
    contactId: 'contact-1',
    phone: '+15555550100',
    message: 'Hello',
    attachments: [],
    channel: 'imessage',
    ...fields,
  };
}
