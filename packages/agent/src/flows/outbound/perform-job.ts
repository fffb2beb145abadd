import type { SendFrame } from '@footbridge/protocol/frames';

import type { Outcome } from './outcome.ts';
import { readRequest } from './read-request.ts';
import { sendAnimation } from './send-animation.ts';
import { sendAttachments } from './send-attachments.ts';
import { sendReaction } from './send-reaction.ts';
import { sendSticker } from './send-sticker.ts';
import { sendText } from './send-text.ts';
import { sendVoice } from './send-voice.ts';
import type { Tools } from './job-deps.ts';

/** Does what one request asks for. */
export async function perform(frame: SendFrame, tools: Tools): Promise<Outcome> {
  const work = readRequest(frame);
  if ('state' in work) return work;
  if (work.kind === 'text') return await sendText(work, tools);
  if (work.kind === 'attachments') return await sendAttachments(work, tools);
  if (work.kind === 'voice') return await sendVoice(work, tools);
  if (work.kind === 'animation') return await sendAnimation(work, tools);
  if (work.kind === 'reaction') return await sendReaction(work, tools);
  return await sendSticker(work, tools);
}
