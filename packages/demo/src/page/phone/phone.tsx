import { computed, signal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';

import { ask } from '../ask.ts';
import { Composer } from '../chat/composer.tsx';
import { isSet } from '../chat/chat-item.ts';
import type { ChatItem, Tapback } from '../chat/chat-item.ts';
import { effectNamed } from '../chat/effects.ts';
import { Feed } from '../chat/feed.tsx';
import { about, phone } from '../events.ts';
import { clock, now } from '../time.ts';
import { Icon } from '../icons.tsx';
import { stickerFile, VOICE_MS } from '../made-files.ts';
import { BUSINESS, initialsOf, nameOf } from '../people.ts';
import { phoneItems } from './phone-items.ts';
import { playEffect, ScreenEffect } from './screen-effect.tsx';

const OPENED = Date.now();
const chosen = signal<number | undefined>(undefined);
const writesAs = signal<'customer' | 'friend'>('customer');

/** The chats Anna is in, the one with the business alone first. */
const chats = computed(() => {
  const customer = about.value?.customer ?? '';
  return (phone.value?.chats ?? [])
    .filter(({ recipients }) => recipients.includes(customer))
    .toSorted((one, other) => Number(one.isGroup) - Number(other.isGroup));
});
const chat = computed(() => chats.value.find(({ id }) => id === chosen.value) ?? chats.value[0]);
const items = computed(() => (chat.value === undefined ? [] : phoneItems(chat.value)));

/** The customer's phone. It knows nothing of the CRM: whatever it shows has come through the Mac. */
export function PhonePane() {
  const isGroup = chat.value?.isGroup === true;
  const where = chat.value === undefined ? {} : { chatId: chat.value.id };
  const who = isGroup && writesAs.value === 'friend' ? { from: about.value?.friend } : {};
  const say = (what: object) => void ask('say', { ...where, ...who, ...what });
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
          {chats.value.map(({ id, isGroup: isIt }) => (
            <button
              key={id}
              type="button"
              aria-pressed={id === chat.value?.id}
              onClick={() => (chosen.value = id)}
            >
              {isIt ? 'Group' : BUSINESS}
            </button>
          ))}
        </div>
      )}
      <Feed
        label="Messages on the customer's phone"
        items={items.value}
        showsAuthors={isGroup}
        begins={
          <>
            <strong>iMessage</strong> Today {clock(OPENED)}
          </>
        }
        empty="No messages yet. Write one below."
        onTapback={(item, tapback) => void react(item, tapback, who)}
        onReplay={({ effect = '' }) => playEffect(effect)}
      />
      <ScreenEffect />
      {isGroup && (
        <div class="switch" role="group" aria-label="Who writes">
          {(['customer', 'friend'] as const).map((person) => (
            <button
              key={person}
              type="button"
              aria-pressed={writesAs.value === person}
              onClick={() => (writesAs.value = person)}
            >
              as {person === 'customer' ? 'Anna' : 'Ben'}
            </button>
          ))}
        </div>
      )}
      <Composer
        label="Write as the customer"
        placeholder={`Write as ${nameOf(who.from ?? about.value?.customer ?? 'Anna')}…`}
        onText={(text) => say({ text })}
        onFile={(file) => say({ attachments: [file] })}
        onVoice={(file) => say({ voice: { ...file, durationMs: VOICE_MS } })}
        onEffect={(effect, text) => say({ text, effect: effect.name })}
        onSticker={(name) => void ask('sticker', { ...where, ...who, ...stickerFile(name) })}
        onGroup={() => void openGroup()}
      />
      <span class="phone-home" aria-hidden="true" />
    </div>
  );
}

async function openGroup(): Promise<void> {
  const made = await ask<{ chatId: number }>('group', {});
  if (made !== undefined) chosen.value = made.chatId;
}

async function react(item: ChatItem, tapback: Tapback, who: object): Promise<void> {
  await ask('react', {
    ...who,
    targetGuid: item.target?.guid,
    action: isSet(item, tapback) ? 'remove' : 'add',
    ...tapback,
    ...(tapback.kind === 'sticker' && { sticker: stickerFile(tapback.sticker) }),
  });
}

/** Plays the effect of a message that arrives while somebody looks; not those that were there before. */
function useNewEffects(shown: readonly ChatItem[]): void {
  const seen = useRef<Set<string>>(undefined);
  useEffect(() => {
    const before = seen.current;
    seen.current = new Set([...(before ?? []), ...shown.map(({ id }) => id)]);
    if (before === undefined) return;
    const arrived = shown.findLast(({ id, effect }) => effect !== undefined && !before.has(id));
    const effect = effectNamed(arrived?.effect);
    if (effect?.kind === 'screen') playEffect(effect.name);
  }, [shown]);
}
