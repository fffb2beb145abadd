import type { MessageReceivedFrame } from '@footbridge/protocol/frames';

/** The chat of a message whose content is not read, as far as it is known. */
export interface KnownChat {
  readonly id: number;
  readonly isGroup: boolean;
  readonly recipients: readonly string[];
}

/** The text that a service shows when it does not know `setAside`. */
const TEXT = '[This message was not read on the Mac.]';
const UNKNOWN = 'unknown';

/** Returns the frame that reports a message that was set aside (I10). It has none of the content, which crashed the agent. */
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
