import type { Destination, OutgoingMessage, SendResult } from '../../ports/messages/messages.ts';
import type { Outcome } from './outcome.ts';
import type { Tools } from './job-deps.ts';

export interface Part {
  /** Names the send in the journal, so that a second attempt knows what has left already. */
  readonly step: string;
  readonly message: OutgoingMessage;
}

/** Sends one after the other and stops at the first that fails. The guid that is reported is that of the first. */
export async function sendParts(
  parts: readonly Part[],
  destination: Destination,
  tools: Tools,
): Promise<Outcome> {
  let towards = destination;
  let guid: string | undefined;
  for (const [index, part] of parts.entries()) {
    const result = await sendPart(part, towards, tools);
    if (result.sent.result !== 'sent') {
      const { code, message } = result.sent;
      const state = result.sent.result === 'failed' ? 'failed' : 'unknown';
      if (index === 0) return { state, code, message };
      return { state, code, message: `${message} (${index} of ${parts.length} parts were sent before)` };
    }
    towards = result.towards;
    guid ??= result.sent.guid;
  }
  return { state: 'delivered', guid };
}

async function sendPart(
  part: Part,
  destination: Destination,
  { messages, steps, settings }: Tools,
): Promise<{ sent: SendResult; towards: Destination }> {
  const sent = await steps.once(part.step, () => messages.send(part.message, destination));
  const refusedByIMessage = sent.result === 'failed' && sent.notOnIMessage === true;
  if (!settings.smsFallback || !refusedByIMessage || destination.to !== 'person') {
    return { sent, towards: destination };
  }
  // Safe from a second copy: Messages itself said that the first one went nowhere.
  const towards: Destination = { ...destination, service: 'SMS' };
  return { sent: await steps.once(part.step, () => messages.send(part.message, towards)), towards };
}
