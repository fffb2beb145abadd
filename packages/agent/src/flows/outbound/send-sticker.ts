import { majorOf, MIN_MACOS } from '../../ports/messages/feature-versions.ts';
import { fetchOnce } from './fetch-file.ts';
import { findRequiredChat } from './find-chat.ts';
import type { Outcome } from './outcome.ts';
import { failed } from './outcome.ts';
import type { ParsedRequest } from './read-request.ts';
import { checkUiAutomation } from './check-ui-automation.ts';
import { sendParts } from './send-parts.ts';
import { stickerImage } from './sticker-image.ts';
import type { JobDeps } from './job-deps.ts';

/** Sends a sticker as a message. */
export async function sendSticker(
  request: Extract<ParsedRequest, { kind: 'sticker' }>,
  deps: JobDeps,
): Promise<Outcome> {
  const environment = deps.messages.environment();
  const denied = checkUiAutomation(environment);
  if (denied !== undefined) return denied;
  if (majorOf(environment.macos) < MIN_MACOS.stickers) {
    return failed(
      'COMPOSE_FAILED',
      `Stickers need macOS ${MIN_MACOS.stickers} or newer; this Mac has ${environment.macos}.`,
    );
  }
  const chat = findRequiredChat(request.address, deps.messages.store);
  if (chat === undefined) {
    return failed('TARGET_NOT_FOUND', 'This Mac has no chat with this chat_id and these people.');
  }
  const file = fetchOnce(() => stickerImage(request.sticker, deps));
  const { name } = request.sticker;
  const description = name === undefined ? {} : { description: name };
  return await sendParts(
    [{ step: 'sticker', message: { kind: 'sticker', file, ...description } }],
    { to: 'chat', chatId: chat.id },
    deps,
  );
}
