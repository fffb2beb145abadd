import { findEffect } from '@footbridge/protocol/effects';
import type { Destination, Messages, MessageStore } from '../../ports/messages/messages.ts';
import { attachmentFetchers } from './fetch-attachments.ts';
import type { ParsedRequest } from './read-request.ts';
import { route } from './route.ts';
import { checkUiAutomation } from './check-ui-automation.ts';
import { sendParts } from './send-parts.ts';
import type { Part } from './send-parts.ts';
import type { JobDeps } from './job-deps.ts';
import { failed } from '../../outcome.ts';
import type { Failed, JobOutcome } from '../../outcome.ts';

type AnimationRequest = Extract<ParsedRequest, { kind: 'animation' }>;

/** Sends a text with an effect. Its attachments follow without one. */
export async function sendAnimation(request: AnimationRequest, deps: JobDeps): Promise<JobOutcome> {
  const { messages } = deps;
  const effect = findEffect(request.effect)?.id ?? request.effect;
  const files = attachmentFetchers(request.attachments, deps);
  const parts: Part[] = [
    {
      step: 'text',
      message: { kind: 'text', text: request.text, effect },
      check: (destination) => checkEffect(request, destination, messages),
    },
    ...files.map((file, index): Part => ({ step: `file ${index}`, message: { kind: 'file', file } })),
  ];
  return await sendParts(parts, () => route(request.address, messages.store), deps);
}

function checkEffect(
  request: AnimationRequest,
  destination: Destination,
  messages: Messages,
): Failed | undefined {
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
  if (serviceOf(destination, messages.store) !== 'iMessage') {
    return failed(
      'IMESSAGE_ERROR',
      'Effects need iMessage, and this chat does not use it. Nothing was sent.',
    );
  }
  return checkUiAutomation(messages.environment());
}

function serviceOf(destination: Destination, store: MessageStore): string | undefined {
  return destination.to === 'chat' ? store.chat(destination.chatId)?.service : destination.service;
}
