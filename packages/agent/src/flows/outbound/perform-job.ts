import type { SendFrame } from '@footbridge/protocol/frames';

import type { Destination, MessageStore } from '../../ports/messages/messages.ts';
import { findRequiredChat } from './find-chat.ts';
import type { JobDeps } from './job-deps.ts';
import { readRequest } from './read-request.ts';
import type { ParsedRequest } from './read-request.ts';
import { route } from './route.ts';
import { sendAnimation } from './send-animation.ts';
import { sendAttachments } from './send-attachments.ts';
import { sendReaction } from './send-reaction.ts';
import { sendSticker } from './send-sticker.ts';
import { sendText } from './send-text.ts';
import { sendVoice } from './send-voice.ts';
import type { Held } from './held-jobs.ts';
import type { JobOutcome } from '../../outcome.ts';

export async function performJob(frame: SendFrame, deps: JobDeps): Promise<JobOutcome | Held> {
  deps.workOn();
  const byPath = deps.settings.channel === 'path';
  const request = readRequest(byPath ? frame : { ...frame, channel: 'imessage' });
  if ('state' in request) return request;
  const held = reachedLimit(request, deps);
  if (held !== undefined) return held;
  if (request.kind === 'text') return await sendText(request, deps);
  if (request.kind === 'attachments') return await sendAttachments(request, deps);
  if (request.kind === 'voice') return await sendVoice(request, deps);
  if (request.kind === 'animation') return await sendAnimation(request, deps);
  if (request.kind === 'reaction') return await sendReaction(request, deps);
  return await sendSticker(request, deps);
}

/** Returns the limit that holds a job. A job that has begun is completed, and reactions have no limits. */
function reachedLimit(request: ParsedRequest, { messages, pacing, steps }: JobDeps): Held | undefined {
  if (request.kind === 'reaction' || steps.haveBegun()) return undefined;
  const destination = destinationOf(request, messages.store);
  return destination === undefined ? undefined : pacing.reached(destination, messages.store);
}

/** Returns undefined for a request without a valid destination: the job then fails with the reason. */
function destinationOf({ kind, address }: ParsedRequest, store: MessageStore): Destination | undefined {
  if (kind === 'sticker') {
    const chat = findRequiredChat(address, store);
    return chat && { to: 'chat', chatId: chat.id };
  }
  const destination = route(address, store);
  return 'state' in destination ? undefined : destination;
}
