import { attachmentFetchers } from './fetch-attachments.ts';
import type { ParsedRequest } from './read-request.ts';
import { route } from './route.ts';
import { sendParts } from './send-parts.ts';
import type { Part } from './send-parts.ts';
import type { JobDeps } from './job-deps.ts';
import type { JobOutcome } from '../../outcome.ts';

/** Sends the text, then each file. Each is a separate message. */
export async function sendAttachments(
  request: Extract<ParsedRequest, { kind: 'attachments' }>,
  deps: JobDeps,
): Promise<JobOutcome> {
  const parts: Part[] = attachmentFetchers(request.attachments, deps).map((file, index) => ({
    step: `file ${index}`,
    message: { kind: 'file', file },
  }));
  if (request.text !== '') parts.unshift({ step: 'text', message: { kind: 'text', text: request.text } });
  return await sendParts(parts, () => route(request.address, deps.messages.store), deps);
}
