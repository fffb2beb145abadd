import { fetchAttachments } from './fetch-attachments.ts';
import type { Outcome } from './outcome.ts';
import { refused } from './outcome.ts';
import type { Work } from './read-request.ts';
import { route } from './route.ts';
import { sendParts } from './send-parts.ts';
import type { Part } from './send-parts.ts';
import type { Tools } from './job-deps.ts';

/** The first attachment becomes the voice message. */
export async function sendVoice(work: Extract<Work, { kind: 'voice' }>, tools: Tools): Promise<Outcome> {
  if (work.attachments.length === 0) {
    return refused('INVALID_FRAME', 'A voice message needs its recording as an attachment.');
  }
  const destination = route(work.address, tools.messages.store);
  if ('state' in destination) return destination;
  const files = await fetchAttachments(work.attachments, tools);
  if ('state' in files) return files;
  const [recording, ...rest] = files;
  if (recording === undefined || !recording.mime.startsWith('audio/')) {
    return refused('INVALID_FRAME', 'The first attachment of a voice message must be an audio file.');
  }
  const { duration_ms: durationMs } = work.voice;
  const parts: Part[] = [
    ...(work.text === ''
      ? []
      : [{ step: 'text', message: { kind: 'text', text: work.text } } satisfies Part]),
    {
      step: 'voice',
      message: { kind: 'voice', file: recording, ...(durationMs === undefined ? {} : { durationMs }) },
    },
    ...rest.map((file, index): Part => ({ step: `file ${index + 1}`, message: { kind: 'file', file } })),
  ];
  return await sendParts(parts, destination, tools);
}
