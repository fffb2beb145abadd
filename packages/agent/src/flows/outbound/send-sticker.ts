import { majorOf, MIN_MACOS } from '../../ports/messages/feature-versions.ts';
import type { Destination, Environment, MessageStore } from '../../ports/messages/messages.ts';
import { fetchOnce } from './fetch-file.ts';
import { findRequiredChat } from './find-chat.ts';
import type { Address, ParsedRequest } from './read-request.ts';
import { checkUiAutomation } from './check-ui-automation.ts';
import { sendParts } from './send-parts.ts';
import type { Part } from './send-parts.ts';
import { stickerImage } from './sticker-image.ts';
import type { JobDeps } from './job-deps.ts';
import { failed } from '../../outcome.ts';
import type { Failed, JobOutcome } from '../../outcome.ts';

/** Sends a sticker as a message. */
export async function sendSticker(
  { sticker, address }: Extract<ParsedRequest, { kind: 'sticker' }>,
  deps: JobDeps,
): Promise<JobOutcome> {
  const { messages } = deps;
  const file = fetchOnce(() => stickerImage(sticker, deps));
  const description = sticker.name === undefined ? {} : { description: sticker.name };
  const part: Part = {
    step: 'sticker',
    message: { kind: 'sticker', file, ...description },
    check: () => checkStickers(messages.environment()),
  };
  return await sendParts([part], () => stickerChat(address, messages.store), deps);
}

function stickerChat(address: Address, store: MessageStore): Destination | Failed {
  const chat = findRequiredChat(address, store);
  return chat === undefined
    ? failed('TARGET_NOT_FOUND', 'This Mac has no chat with this chat_id and these people.')
    : { to: 'chat', chatId: chat.id };
}

function checkStickers(environment: Environment): Failed | undefined {
  const denied = checkUiAutomation(environment);
  if (denied !== undefined || majorOf(environment.macos) >= MIN_MACOS.stickers) return denied;
  return failed(
    'COMPOSE_FAILED',
    `Stickers need macOS ${MIN_MACOS.stickers} or newer; this Mac has ${environment.macos}.`,
  );
}
