import { fetchAttachments } from './fetch-attachments.ts';
import type { Outcome } from './outcome.ts';
import type { Work } from './read-request.ts';
import { route } from './route.ts';
import { sendParts } from './send-parts.ts';
import type { Part } from './send-parts.ts';
import type { Tools } from './job-deps.ts';

/** In Messages a text and each file are messages of their own; the text goes first. */
export async function sendAttachments(
  work: Extract<Work, { kind: 'attachments' }>,
  tools: Tools,
): Promise<Outcome> {
  const destination = route(work.address, tools.messages.store);
  if ('state' in destination) return destination;
  const files = await fetchAttachments(work.attachments, tools);
  if ('state' in files) return files;
  const parts: Part[] = files.map((file, index) => ({
    step: `file ${index}`,
    message: { kind: 'file', file },
  }));
  if (work.text !== '') parts.unshift({ step: 'text', message: { kind: 'text', text: work.text } });
  return await sendParts(parts, destination, tools);
}
