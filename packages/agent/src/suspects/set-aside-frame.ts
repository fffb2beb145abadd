import type { MessageReceivedFrame } from '@footbridge/protocol/frames';

/** What is known of the chat of a message that is not read. */
export interface KnownChat {
  readonly id: number;
  readonly isGroup: boolean;
  readonly recipients: readonly string[];
}

/** A service that does not know `setAside` shows this. */
const TEXT = '[This message was not read on the Mac.]';
const UNKNOWN = 'unknown';

/** Tells the service that a message was set aside (I10). It says nothing of the content, which ended the agent. */
export function setAsideFrame(
  guid: string,
  chat: KnownChat | undefined,
  now: number,
): Omit<MessageReceivedFrame, 'seq'> {
  const sender = chat?.isGroup === false ? chat.recipients[0] : undefined;
  return {
    type: 'message_received',
    guid,
    sender: sender ?? UNKNOWN,
    service: 'iMessage',
    text: TEXT,
    sentAt: new Date(now).toISOString(),
    chat: { id: chat?.id ?? 0, isGroup: chat?.isGroup ?? false, recipients: [] },
    attachments: [],
    setAside: true,
  };
}
