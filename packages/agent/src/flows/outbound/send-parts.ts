import { contentKey } from '../../ports/messages/content-key.ts';
import type { Destination, Messages, OutgoingMessage, SendResult } from '../../ports/messages/messages.ts';
import type { Outcome } from './outcome.ts';
import type { JobDeps } from './job-deps.ts';

export interface Part {
  /** The name of the step in the journal, by which a second attempt skips parts that were sent. */
  readonly step: string;
  readonly message: OutgoingMessage;
}

/** Sends the parts in order and stops at the first failure. Reports the guid of the first part. */
export async function sendParts(
  parts: readonly Part[],
  destination: Destination,
  deps: JobDeps,
): Promise<Outcome> {
  let target = destination;
  let guid: string | undefined;
  for (const [index, part] of parts.entries()) {
    if (index > 0) await deps.pacing.pause();
    const result = await sendPart(part, target, deps);
    if (result.sent.result !== 'sent') {
      const { code, message } = result.sent;
      const state = result.sent.result === 'failed' ? 'failed' : 'unknown';
      if (index === 0) return { state, code, message };
      return { state, code, message: `${message} (${index} of ${parts.length} parts were already sent)` };
    }
    target = result.target;
    guid ??= result.sent.guid;
  }
  return { state: 'delivered', guid };
}

async function sendPart(
  part: Part,
  destination: Destination,
  { messages, steps, settings, pacing }: JobDeps,
): Promise<{ sent: SendResult; target: Destination }> {
  const sendTo = (to: Destination): Promise<SendResult> =>
    steps.once(
      part.step,
      () => {
        pacing.count(to, messages.store);
        return messages.send(part.message, to);
      },
      (since) => messages.outcomeOf(part.message, to, since),
      contentKey(part.message),
    );
  const sent = await sendTo(destination);
  if (sent.result !== 'failed' || sent.notOnIMessage !== true) return { sent, target: destination };
  const handle = onlyRecipient(destination, messages);
  if (handle === undefined)
    return { sent: { ...sent, code: 'IMESSAGE_GROUP_INVALID_RECIPIENTS' }, target: destination };
  if (settings.channel !== 'auto' || !fitsSms(part.message)) return { sent, target: destination };
  // Cannot duplicate the message: Messages reported that the first attempt was not sent.
  const target: Destination = { to: 'person', handle, service: 'SMS' };
  return { sent: await sendTo(target), target };
}

function onlyRecipient(destination: Destination, { store }: Messages): string | undefined {
  if (destination.to === 'person') return destination.handle;
  const chat = destination.to === 'chat' ? store.chat(destination.chatId) : undefined;
  return chat?.isGroup === false ? chat.recipients[0] : undefined;
}

/** Effects and stickers exist only in iMessage. */
const fitsSms = (message: OutgoingMessage): boolean =>
  message.kind === 'text' ? message.effect === undefined : message.kind !== 'sticker';
