import type { Outcome } from './outcome.ts';
import { refused } from './outcome.ts';
import type { Work } from './read-request.ts';
import { route } from './route.ts';
import { sendParts } from './send-parts.ts';
import type { Tools } from './job-deps.ts';

export async function sendText(work: Extract<Work, { kind: 'text' }>, tools: Tools): Promise<Outcome> {
  const { store } = tools.messages;
  const destination = route(work.address, store);
  if ('state' in destination) return destination;
  if (work.replyTo !== undefined && store.rowByGuid(work.replyTo) === undefined) {
    return refused('TARGET_NOT_FOUND', 'The message to reply to is not on this Mac.');
  }
  const reply = work.replyTo === undefined ? {} : { replyTo: work.replyTo };
  return await sendParts(
    [{ step: 'text', message: { kind: 'text', text: work.text, ...reply } }],
    destination,
    tools,
  );
}
