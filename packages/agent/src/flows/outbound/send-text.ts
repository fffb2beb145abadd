import type { Outcome } from './outcome.ts';
import { failed } from './outcome.ts';
import type { ParsedRequest } from './read-request.ts';
import { route } from './route.ts';
import { sendParts } from './send-parts.ts';
import type { JobDeps } from './job-deps.ts';

export async function sendText(
  request: Extract<ParsedRequest, { kind: 'text' }>,
  deps: JobDeps,
): Promise<Outcome> {
  const { store } = deps.messages;
  const destination = route(request.address, store);
  if ('state' in destination) return destination;
  if (request.replyTo !== undefined && store.rowByGuid(request.replyTo) === undefined) {
    return failed(
      'TARGET_NOT_FOUND',
      'The message to reply to does not exist on this Mac. Nothing was sent.',
    );
  }
  const reply = request.replyTo === undefined ? {} : { replyTo: request.replyTo };
  return await sendParts(
    [{ step: 'text', message: { kind: 'text', text: request.text, ...reply } }],
    destination,
    deps,
  );
}
