import type { Destination, OutgoingMessage, SendResult } from '../../ports/messages/messages.ts';
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
  { messages, steps, settings }: JobDeps,
): Promise<{ sent: SendResult; target: Destination }> {
  const sent = await steps.once(part.step, () => messages.send(part.message, destination));
  const notOnIMessage = sent.result === 'failed' && sent.notOnIMessage === true;
  if (!settings.smsFallback || !notOnIMessage || destination.to !== 'person') {
    return { sent, target: destination };
  }
  // Cannot duplicate the message: Messages reported that the first attempt was not sent.
  const target: Destination = { ...destination, service: 'SMS' };
  return { sent: await steps.once(part.step, () => messages.send(part.message, target)), target };
}
