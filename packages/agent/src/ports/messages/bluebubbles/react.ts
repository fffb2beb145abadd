import type { Clock } from '@footbridge/runtime/clock';

import { failed } from '../../../outcome.ts';
import type { MessageStore, OwnReaction, PressResult, TapbackPress } from '../messages.ts';
import type { Limits } from './await-outcome.ts';
import { certainFailure } from './certain-failures.ts';
import type { Reply, ServerClient } from './server-client.ts';

export interface ReactDeps {
  readonly client: ServerClient;
  readonly store: MessageStore;
  readonly clock: Clock;
  readonly limits: Limits;
}

const POLL_MS = 50;

/** The failures of reactions that no version of BlueBubbles can send. */
const NOT_POSSIBLE = {
  emoji: failed('EMOJI_NOT_IN_RECENTS', 'BlueBubbles cannot send an emoji as a reaction. Nothing was sent.'),
  sticker: failed('STICKER_NOT_FEASIBLE', 'BlueBubbles cannot put a sticker on a message. Nothing was sent.'),
} as const;

/**
 * Adds or removes a reaction, and waits until the store shows the change or the server has responded. The server does not toggle, so the
 * state in the store decides between adding and removing.
 */
export async function react(press: TapbackPress, deps: ReactDeps): Promise<PressResult> {
  const { client, store, clock, limits } = deps;
  const { targetGuid, tapback, part } = press;
  if (tapback.kind !== 'classic') return NOT_POSSIBLE[tapback.kind];
  const target = store.rowByGuid(targetGuid);
  const chat = target?.chatId === press.chatId ? store.chat(press.chatId) : undefined;
  if (target === undefined || target.unsent || chat === undefined)
    return failed('TARGET_NOT_FOUND', 'The message to react to does not exist in that chat on this Mac.');
  const isActive = () => isReaction(store.ownReaction(targetGuid, part), tapback.type);
  const wasActive = isActive();
  const fields = {
    chatGuid: chat.key,
    selectedMessageGuid: target.guid,
    reaction: wasActive ? `-${tapback.type}` : tapback.type,
    partIndex: part ?? 0,
  };
  const arrival = new AbortController();
  let arrived: { readonly reply: Reply; readonly at: number } | undefined;
  void client.post('/message/react', fields, limits.replyMs).then((reply) => {
    arrived = { reply, at: clock.monotonic() };
    arrival.abort();
  });
  for (;;) {
    if (isActive() !== wasActive) return { state: 'pressed' };
    if (arrived !== undefined) {
      const waitedMs = clock.monotonic() - arrived.at;
      const certain = certainFailure(arrived.reply, { waitedMs, certainMs: limits.certainMs });
      if (certain !== undefined) return certain;
      if (waitedMs >= limits.rowAfterReplyMs) return { state: 'pressed' };
    }
    await clock.sleep(POLL_MS, arrived === undefined ? arrival.signal : undefined);
  }
}

function isReaction(own: OwnReaction | undefined, type: string): boolean {
  return own?.kind === 'classic' && own.type === type;
}
