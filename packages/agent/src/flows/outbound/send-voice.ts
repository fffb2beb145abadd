import { attachmentFetchers } from './fetch-attachments.ts';
import type { FetchFile } from './fetch-file.ts';
import type { ParsedRequest } from './read-request.ts';
import { route } from './route.ts';
import { sendParts } from './send-parts.ts';
import type { Part } from './send-parts.ts';
import type { JobDeps } from './job-deps.ts';
import { failed } from '../../outcome.ts';
import type { JobOutcome } from '../../outcome.ts';

/** Sends the first attachment as a voice message. A text goes before it, other attachments after it. */
export async function sendVoice(
  request: Extract<ParsedRequest, { kind: 'voice' }>,
  deps: JobDeps,
): Promise<JobOutcome> {
  const [recording, ...rest] = attachmentFetchers(request.attachments, deps);
  if (recording === undefined) {
    return failed('INVALID_FRAME', 'A voice message needs its recording as an attachment. Nothing was sent.');
  }
  const { duration_ms: durationMs } = request.voice;
  const parts: Part[] = [
    ...(request.text === ''
      ? []
      : [{ step: 'text', message: { kind: 'text', text: request.text } } satisfies Part]),
    {
      step: 'voice',
      message: {
        kind: 'voice',
        file: audioOnly(recording),
        ...(durationMs === undefined ? {} : { durationMs }),
      },
    },
    ...rest.map((file, index): Part => ({ step: `file ${index + 1}`, message: { kind: 'file', file } })),
  ];
  return await sendParts(parts, () => route(request.address, deps.messages.store), deps);
}

function audioOnly(fetch: FetchFile): FetchFile {
  return async () => {
    const file = await fetch();
    if ('state' in file || file.mime.startsWith('audio/')) return file;
    return failed(
      'INVALID_FRAME',
      'The first attachment of a voice message must be an audio file. Nothing was sent.',
    );
  };
}
