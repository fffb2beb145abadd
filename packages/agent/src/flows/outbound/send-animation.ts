import { findEffect } from '../../ports/messages/effects.ts';
import type { Destination, MessageStore } from '../../ports/messages/messages.ts';
import { fetchAttachments } from './fetch-attachments.ts';
import type { Outcome } from './outcome.ts';
import { refused } from './outcome.ts';
import type { Work } from './read-request.ts';
import { route } from './route.ts';
import { mayUseScreenControls } from './check-ui-automation.ts';
import { sendParts } from './send-parts.ts';
import type { Part } from './send-parts.ts';
import type { Tools } from './job-deps.ts';

/** A text shown with an effect; files that come with it are sent plainly, after it. */
export async function sendAnimation(
  work: Extract<Work, { kind: 'animation' }>,
  tools: Tools,
): Promise<Outcome> {
  const effect = findEffect(work.effect);
  if (effect === undefined) return refused('NOT_IMPLEMENTED', 'This effect is not known to this agent.');
  if (work.effectKind !== undefined && work.effectKind !== effect.kind) {
    return refused('INVALID_FRAME', `The effect ${effect.name} is of the kind ${effect.kind}.`);
  }
  if (work.text === '') return refused('INVALID_FRAME', 'An effect needs a text to show.');
  const { store } = tools.messages;
  const destination = route(work.address, store);
  if ('state' in destination) return destination;
  if (serviceOf(destination, store) !== 'iMessage') {
    return refused('IMESSAGE_ERROR', 'Effects exist in iMessage only; this conversation is not one.');
  }
  const denied = mayUseScreenControls(tools.messages.environment());
  if (denied !== undefined) return denied;
  const files = await fetchAttachments(work.attachments, tools);
  if ('state' in files) return files;
  const parts: Part[] = [
    { step: 'text', message: { kind: 'text', text: work.text, effect: effect.id } },
    ...files.map((file, index): Part => ({ step: `file ${index}`, message: { kind: 'file', file } })),
  ];
  return await sendParts(parts, destination, tools);
}

function serviceOf(destination: Destination, store: MessageStore): string | undefined {
  return destination.to === 'chat' ? store.chat(destination.chatId)?.service : destination.service;
}
