import { macosMajor } from '../../ports/messages/messages.ts';
import type { Outcome } from './outcome.ts';
import { refused } from './outcome.ts';
import type { Work } from './read-request.ts';
import { mayUseScreenControls } from './check-ui-automation.ts';
import { sendParts } from './send-parts.ts';
import { stickerImage } from './sticker-image.ts';
import type { Tools } from './job-deps.ts';

/** A sticker as a message of its own. */
export async function sendSticker(work: Extract<Work, { kind: 'sticker' }>, tools: Tools): Promise<Outcome> {
  const environment = tools.messages.environment();
  const denied = mayUseScreenControls(environment);
  if (denied !== undefined) return denied;
  if (macosMajor(environment) < 15) {
    return refused('COMPOSE_FAILED', `Sending stickers needs macOS 15; this Mac has ${environment.macos}.`);
  }
  if (tools.messages.store.chat(work.chatId) === undefined) {
    return refused('COMPOSE_FAILED', `chat_id ${work.chatId} is not a conversation on this Mac.`);
  }
  const file = await stickerImage(work.sticker, tools);
  if ('state' in file) return file;
  const { name } = work.sticker;
  const description = name === undefined ? {} : { description: name };
  return await sendParts(
    [{ step: 'sticker', message: { kind: 'sticker', file, ...description } }],
    { to: 'chat', chatId: work.chatId },
    tools,
  );
}
