import { findEffect } from '../../ports/messages/effects.ts';
import type { Destination, MessageStore } from '../../ports/messages/messages.ts';
import { attachmentFetchers } from './fetch-attachments.ts';
import type { Outcome } from './outcome.ts';
import { failed } from './outcome.ts';
import type { ParsedRequest } from './read-request.ts';
import { route } from './route.ts';
import { checkUiAutomation } from './check-ui-automation.ts';
import { sendParts } from './send-parts.ts';
import type { Part } from './send-parts.ts';
import type { JobDeps } from './job-deps.ts';

/** Sends a text with an effect. Its attachments follow without one. */
export async function sendAnimation(
  request: Extract<ParsedRequest, { kind: 'animation' }>,
  deps: JobDeps,
): Promise<Outcome> {
  const effect = findEffect(request.effect);
  if (effect === undefined)
    return failed('NOT_IMPLEMENTED', 'This agent does not know this effect. Nothing was sent.');
  if (request.effectKind !== undefined && request.effectKind !== effect.kind) {
    return failed(
      'INVALID_FRAME',
      `The kind of the effect ${effect.name} is ${effect.kind}. Nothing was sent.`,
    );
  }
  if (request.text === '') return failed('INVALID_FRAME', 'An effect needs a text. Nothing was sent.');
  const { store } = deps.messages;
  const destination = route(request.address, store);
  if ('state' in destination) return destination;
  if (serviceOf(destination, store) !== 'iMessage') {
    return failed(
      'IMESSAGE_ERROR',
      'Effects need iMessage, and this chat does not use it. Nothing was sent.',
    );
  }
  const denied = checkUiAutomation(deps.messages.environment());
  if (denied !== undefined) return denied;
  const files = attachmentFetchers(request.attachments, deps);
  const parts: Part[] = [
    { step: 'text', message: { kind: 'text', text: request.text, effect: effect.id } },
    ...files.map((file, index): Part => ({ step: `file ${index}`, message: { kind: 'file', file } })),
  ];
  return await sendParts(parts, destination, deps);
}

function serviceOf(destination: Destination, store: MessageStore): string | undefined {
  return destination.to === 'chat' ? store.chat(destination.chatId)?.service : destination.service;
}
