import type { SendFrame } from '@footbridge/protocol/frames';

import type { JobDeps } from './job-deps.ts';
import type { Outcome } from './outcome.ts';
import { readRequest } from './read-request.ts';
import { sendAnimation } from './send-animation.ts';
import { sendAttachments } from './send-attachments.ts';
import { sendReaction } from './send-reaction.ts';
import { sendSticker } from './send-sticker.ts';
import { sendText } from './send-text.ts';
import { sendVoice } from './send-voice.ts';

export async function performJob(frame: SendFrame, deps: JobDeps): Promise<Outcome> {
  const byPath = deps.settings.channel === 'path';
  const request = readRequest(byPath ? frame : { ...frame, channel: 'imessage' });
  if ('state' in request) return request;
  if (request.kind === 'text') return await sendText(request, deps);
  if (request.kind === 'attachments') return await sendAttachments(request, deps);
  if (request.kind === 'voice') return await sendVoice(request, deps);
  if (request.kind === 'animation') return await sendAnimation(request, deps);
  if (request.kind === 'reaction') return await sendReaction(request, deps);
  return await sendSticker(request, deps);
}
