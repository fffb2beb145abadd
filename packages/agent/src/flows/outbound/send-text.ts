import type { ParsedRequest } from './read-request.ts';
import { route } from './route.ts';
import { sendParts } from './send-parts.ts';
import type { JobDeps } from './job-deps.ts';
import { failed } from '../../outcome.ts';
import type { JobOutcome } from '../../outcome.ts';

export async function sendText(
  { address, text, replyTo }: Extract<ParsedRequest, { kind: 'text' }>,
  deps: JobDeps,
): Promise<JobOutcome> {
  const { store } = deps.messages;
  const check = () =>
    replyTo === undefined || store.rowByGuid(replyTo) !== undefined ? undefined : REPLY_TARGET_NOT_FOUND;
  const reply = replyTo === undefined ? {} : { replyTo };
  return await sendParts(
    [{ step: 'text', message: { kind: 'text', text, ...reply }, check }],
    () => route(address, store),
    deps,
  );
}

const REPLY_TARGET_NOT_FOUND = failed(
  'TARGET_NOT_FOUND',
  'The message to reply to does not exist on this Mac. Nothing was sent.',
);
