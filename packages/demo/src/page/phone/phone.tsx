import { computed, signal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';

import { postAction } from '../post-action.ts';
import { Composer } from '../chat/composer.tsx';
import { isSet } from '../chat/chat-item.ts';
import type { ChatItem, Tapback } from '../chat/chat-item.ts';
import { effectNamed } from '../chat/effects.ts';
import { Feed } from '../chat/feed.tsx';
import { about, phone } from '../events.ts';
import { clock, now, OPENED } from '../time.ts';
import { Icon } from '@footbridge/ui/icons';
import { stickerFile, VOICE_MS } from '../generated-files.ts';
import { BUSINESS, initialsOf, nameOf } from '../people.ts';
import { phoneItems } from './phone-items.ts';
import { playEffect, ScreenEffect } from './screen-effect.tsx';

const chosen = signal<number | undefined>(undefined);
const writesAs = signal<'customer' | 'friend'>('customer');
const written = signal(0);

/** Anna's chats, one-to-one chats first. */
const chats = computed(() => {
  const customer = about.value?.customer ?? '';
  return (phone.value?.chats ?? [])
    .filter(({ recipients }) => recipients.includes(customer))
    .toSorted((a, b) => Number(a.isGroup) - Number(b.isGroup));
});
const chat = computed(() => chats.value.find(({ id }) => id === chosen.value) ?? chats.value[0]);
const items = computed(() => (chat.value === undefined ? [] : phoneItems(chat.value)));

/** The customer's phone. Everything it shows came through the Mac. */
export function PhonePane() {
  const isGroup = chat.value?.isGroup === true;
  const where = chat.value === undefined ? {} : { chatId: chat.value.id };
  const who = isGroup && writesAs.value === 'friend' ? { from: about.value?.friend } : {};
  const send = (action: string, what: object) => {
    written.value++;
    void postAction(action, { ...where, ...who, ...what });
  };
  const say = (what: object) => send('say', what);
  useNewEffects(items.value);

  return (
    <div class="phone">
      <div class="phone-top" aria-hidden="true">
        <span>{clock(now.value)}</span>
        <span class="phone-island" />
        <span class="phone-signals">
          <Icon name="signal" />
          <Icon name="wifi" />
          <span class="phone-battery" />
        </span>
      </div>
      <div class="phone-contact">
        <span class={isGroup ? 'avatars' : 'avatar avatar-business'} aria-hidden="true">
          {isGroup ? (
            <>
              <span class="avatar avatar-business">{initialsOf(BUSINESS)}</span>
              <span class="avatar avatar-friend">{initialsOf('Ben')}</span>
            </>
          ) : (
            initialsOf(BUSINESS)
          )}
        </span>
        <span class="phone-name">{isGroup ? `${BUSINESS}, Ben & you` : BUSINESS}</span>
      </div>
      {chats.value.length > 1 && (
        <div class="switch" role="group" aria-label="Chat">
          {chats.value.map(({ id, isGroup: isGroupChat }) => (
            <button
              key={id}
              type="button"
              aria-pressed={id === chat.value?.id}
              onClick={() => (chosen.value = id)}
            >
              {isGroupChat ? 'Group' : BUSINESS}
            </button>
          ))}
        </div>
      )}
      <Feed
        label="Messages on the customer's phone"
        items={items.value}
        showsAuthors={isGroup}
        heading="iMessage"
        empty="No messages yet. Type one below."
        onTapback={(item, tapback) => void react(item, tapback, who)}
        onReplay={({ effect = '' }) => playEffect(effect)}
        followAgain={`${chat.value?.id} ${written.value}`}
      />
      <ScreenEffect />
      {isGroup && (
        <div class="switch" role="group" aria-label="Sender">
          {(['customer', 'friend'] as const).map((person) => (
            <button
              key={person}
              type="button"
              aria-pressed={writesAs.value === person}
              onClick={() => (writesAs.value = person)}
            >
              As {person === 'customer' ? 'Anna' : 'Ben'}
            </button>
          ))}
        </div>
      )}
      <Composer
        label="Text as the customer"
        placeholder={`Text as ${nameOf(who.from ?? about.value?.customer ?? 'Anna')}…`}
        onText={(text) => say({ text })}
        onFile={(file) => say({ attachments: [file] })}
        onVoice={(file) => say({ voice: { ...file, durationMs: VOICE_MS } })}
        onEffect={(effect, text) => say({ text, effect: effect.name })}
        onSticker={(name) => send('sticker', stickerFile(name))}
        onGroup={() => void openGroup()}
      />
      <span class="phone-home" aria-hidden="true" />
    </div>
  );
}

async function openGroup(): Promise<void> {
  const created = await postAction<{ chatId: number }>('group', {});
  if (created !== undefined) chosen.value = created.chatId;
}

async function react(item: ChatItem, tapback: Tapback, who: object): Promise<void> {
  await postAction('react', {
    ...who,
    targetGuid: item.target?.guid,
    action: isSet(item, tapback) ? 'remove' : 'add',
    ...tapback,
    ...(tapback.kind === 'sticker' && { sticker: stickerFile(tapback.sticker) }),
  });
}

/** Plays the effect of each message that arrives while the page is open, once. */
function useNewEffects(shown: readonly ChatItem[]): void {
  const played = useRef(new Set<string>());
  useEffect(() => {
    const arrived = shown.filter(({ id, at, effect }) => effect && at > OPENED && !played.current.has(id));
    for (const { id } of arrived) played.current.add(id);
    const effect = effectNamed(arrived.at(-1)?.effect);
    if (effect?.kind === 'screen') playEffect(effect.name);
  }, [shown]);
}
