import { computed, signal } from '@preact/signals';

import { ask } from '../ask.ts';
import { Composer } from '../chat/composer.tsx';
import { isSet } from '../chat/chat-item.ts';
import type { ChatItem, Tapback } from '../chat/chat-item.ts';
import { Feed } from '../chat/feed.tsx';
import { about, inbox, sentGuids } from '../events.ts';
import { Icon } from '../icons.tsx';
import { stickerFile, VOICE_MS } from '../made-files.ts';
import { initialsOf, nameOf } from '../people.ts';
import type { GivenFile } from '../shapes.ts';
import { inboxItems } from './inbox-items.tsx';
import { toThreads } from './threads.ts';
import type { Thread } from './threads.ts';

export const isRaw = signal(false);
const chosen = signal<string | undefined>(undefined);

const threads = computed(() =>
  about.value === undefined ? [] : toThreads(inbox.value, about.value, sentGuids.value),
);
const thread = computed(
  () =>
    threads.value.find(({ id }) => id === chosen.value) ??
    threads.value.find(({ id }) => id === about.value?.contactId) ??
    threads.value[0],
);
const items = computed(() => (thread.value === undefined ? [] : inboxItems(thread.value, isRaw.value)));

/** The CRM's inbox. It knows only what the service called it with; the kit makes a conversation of that. */
export function InboxPane() {
  const open = thread.value;
  return (
    <div class="inbox">
      <div class="inbox-bar">
        <div class="inbox-threads" role="group" aria-label="Conversations">
          {threads.value.map((one) => (
            <button
              key={one.id}
              type="button"
              class="thread"
              aria-pressed={one.id === open?.id}
              onClick={() => (chosen.value = one.id)}
            >
              <span class={`avatar ${one.isGroup ? 'avatar-group' : 'avatar-customer'}`} aria-hidden="true">
                {one.isGroup ? <Icon name="group" /> : initialsOf(titleOf(one))}
              </span>
              <span class="thread-name">
                <bdi>{titleOf(one)}</bdi>
              </span>
            </button>
          ))}
        </div>
        <button
          type="button"
          class="text-button"
          aria-pressed={isRaw.value}
          onClick={() => (isRaw.value = !isRaw.value)}
        >
          <Icon name="raw" /> Raw
        </button>
      </div>
      <Feed
        label="Conversation in the CRM"
        items={items.value}
        showsAuthors={open?.isGroup === true}
        isRaw={isRaw.value}
        empty="Nothing has arrived yet."
        onTapback={(item, tapback) => void tapBack(item, tapback)}
      />
      <Composer
        label="Write as the agent"
        placeholder="Write as the agent…"
        onText={(text) => void send(open, { text })}
        onFile={(file) => void send(open, { files: [file] })}
        onVoice={(file) => void sendVoice(open, file)}
        onEffect={({ name, kind }, text) =>
          void send(open, { text, metadata: { animation: { effect: name, kind } } })
        }
        onSticker={(name) => {
          const { base64: bytes, name: fileName } = stickerFile(name);
          void send(open, { metadata: { chat_id: open?.chatId, sticker: { bytes, name: fileName } } });
        }}
      />
    </div>
  );
}

const titleOf = ({ isGroup, items: [first], recipients, id }: Thread): string => {
  if (isGroup) return recipients.map(nameOf).join(' & ') || 'Group';
  if (id === about.value?.contactId) return 'Anna';
  return first === undefined ? id : nameOf(first.sender);
};

/** A group is addressed in the footer; one person needs none. */
function send(
  open: Thread | undefined,
  { metadata, ...rest }: { text?: string; metadata?: object; files?: GivenFile[] },
): Promise<unknown> {
  const group =
    open?.isGroup === true
      ? { chat_id: open.chatId, is_group: true, recipients: open.recipients }
      : undefined;
  const footer = group === undefined && metadata === undefined ? {} : { metadata: { ...group, ...metadata } };
  return ask('send', { ...rest, ...footer });
}

const sendVoice = (open: Thread | undefined, file: GivenFile) =>
  send(open, { files: [file], metadata: { voice: { duration_ms: VOICE_MS, mime_type: file.mime } } });

async function tapBack(item: ChatItem, tapback: Tapback): Promise<void> {
  const action = isSet(item, tapback) ? 'remove' : 'add';
  const what =
    tapback.kind === 'sticker'
      ? { kind: 'sticker', sticker: bytesOf(stickerFile(tapback.sticker)) }
      : { ...tapback, action };
  await ask('tapback', { chatId: item.target?.chatId, target: item.target?.guid, ...what });
}

const bytesOf = ({ base64, name }: GivenFile) => ({ bytes: base64, name });
