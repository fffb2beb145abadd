import { computed, effect, signal } from '@preact/signals';

import { postAction } from '../post-action.ts';
import { Composer } from '../chat/composer.tsx';
import { isSet } from '../chat/chat-item.ts';
import type { ChatItem, Tapback } from '../chat/chat-item.ts';
import { Feed } from '../chat/feed.tsx';
import { about, inbox } from '../events.ts';
import { Icon } from '@footbridge/ui/icons';
import { stickerFile, VOICE_MS } from '../generated-files.ts';
import { initialsOf, nameOf } from '../people.ts';
import type { UploadedFile } from '../types.ts';
import { clock } from '../time.ts';
import { inboxItems } from './inbox-items.tsx';
import { toThreads } from './threads.ts';
import type { InboxItem, Thread } from './threads.ts';

export const isRaw = signal(false);
const chosen = signal<string | undefined>(undefined);
const written = signal(0);

const threads = computed(() => (about.value === undefined ? [] : toThreads(inbox.value, about.value)));
const thread = computed(
  () =>
    threads.value.find(({ id }) => id === chosen.value) ??
    threads.value.find(({ id }) => id === about.value?.contactId) ??
    threads.value[0],
);
const items = computed(() => (thread.value === undefined ? [] : inboxItems(thread.value, isRaw.value)));

/** The number of received messages per thread that have been displayed. */
const seen = signal<ReadonlyMap<string, number>>(new Map());
effect(() => {
  if (thread.value === undefined) return;
  const { id } = thread.value;
  const count = received(thread.value);
  if (seen.peek().get(id) !== count) seen.value = new Map(seen.peek()).set(id, count);
});

/** Counts the messages of the customers. A reaction changes a message and is not one itself. */
const received = ({ items: found }: Thread): number =>
  found.filter(({ direction, metadata }) => direction === 'in' && metadata?.reaction === undefined).length;

/** The CRM's inbox. It uses only the calls that the CRM received, and the kit to turn them into conversations. */
export function InboxPane() {
  const open = thread.value;
  return (
    <div class="inbox">
      <div class="inbox-threads" role="group" aria-label="Conversations">
        {threads.value.map((entry) => (
          <ThreadRow key={entry.id} thread={entry} isOpen={entry.id === open?.id} />
        ))}
      </div>
      {open !== undefined && (
        <div class="inbox-bar">
          <p class="inbox-facts">
            <bdi>{handlesOf(open).map(asNumber).join(', ')}</bdi>
            <span>
              location <code>{about.value?.locationId}</code>
            </span>
          </p>
          <button
            type="button"
            class="text-button"
            aria-pressed={isRaw.value}
            title="Show the stored messages, including footers"
            onClick={() => (isRaw.value = !isRaw.value)}
          >
            <Icon name="raw" /> Raw
          </button>
        </div>
      )}
      <Feed
        label="Conversation in the CRM"
        items={items.value}
        showsAuthors={open?.isGroup === true}
        isRaw={isRaw.value}
        empty="No messages yet."
        onTapback={(item, tapback) => void react(item, tapback)}
        followAgain={`${open?.id} ${isRaw.value} ${written.value}`}
      />
      <Composer
        label="Reply as the agent"
        placeholder="Reply as the agent…"
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

function ThreadRow({ thread: row, isOpen }: { thread: Thread; isOpen: boolean }) {
  const last = row.items.findLast(({ metadata }) => metadata?.reaction === undefined);
  const unread = isOpen ? 0 : received(row) - (seen.value.get(row.id) ?? 0);
  return (
    <button type="button" class="thread" aria-pressed={isOpen} onClick={() => (chosen.value = row.id)}>
      <span class={`avatar ${row.isGroup ? 'avatar-group' : 'avatar-customer'}`} aria-hidden="true">
        {row.isGroup ? <Icon name="group" /> : initialsOf(titleOf(row))}
      </span>
      <span class="thread-name">
        <bdi>{titleOf(row)}</bdi>
      </span>
      <span class="thread-when" aria-hidden="true">
        {last !== undefined && clock(last.at)}
      </span>
      <span class="thread-last" aria-hidden="true">
        <bdi>{last !== undefined && preview(last)}</bdi>
      </span>
      {unread > 0 && (
        <span class="thread-unread">
          {unread}
          <span class="visually-hidden"> unread</span>
        </span>
      )}
    </button>
  );
}

function preview({ direction, text, metadata, attachments }: InboxItem): string {
  const content =
    text !== ''
      ? text
      : metadata?.voice !== undefined
        ? 'Voice message'
        : metadata?.sticker !== undefined
          ? 'Sticker'
          : attachments.length > 0
            ? 'Attachment'
            : '';
  return `${direction === 'out' ? 'You: ' : ''}${content.slice(0, 120)}`;
}

function handlesOf({ isGroup, recipients, id, items: found }: Thread): readonly string[] {
  if (isGroup) return recipients;
  if (id === about.value?.contactId) return [about.value.customer];
  return found.slice(0, 1).map(({ sender }) => sender);
}

const asNumber = (handle: string): string => handle.replace(/^\+1(\d{3})(\d{3})(\d{4})$/, '+1 ($1) $2-$3');

const titleOf = ({ isGroup, items: [first], recipients, id }: Thread): string => {
  if (isGroup) return recipients.map(nameOf).join(' & ') || 'Group';
  if (id === about.value?.contactId) return 'Anna';
  return first === undefined ? id : nameOf(first.sender);
};

/** Adds a footer with the recipients for a group. A one-to-one message does not need a footer. */
function send(
  open: Thread | undefined,
  { metadata, ...rest }: { text?: string; metadata?: object; files?: UploadedFile[] },
): Promise<unknown> {
  written.value++;
  const group =
    open?.isGroup === true
      ? { chat_id: open.chatId, is_group: true, recipients: open.recipients }
      : undefined;
  const footer = group === undefined && metadata === undefined ? {} : { metadata: { ...group, ...metadata } };
  return postAction('send', { ...rest, ...footer });
}

const sendVoice = (open: Thread | undefined, file: UploadedFile) =>
  send(open, { files: [file], metadata: { voice: { duration_ms: VOICE_MS, mime_type: file.mime } } });

async function react(item: ChatItem, tapback: Tapback): Promise<void> {
  const action = isSet(item, tapback) ? 'remove' : 'add';
  const reaction =
    tapback.kind === 'sticker'
      ? { kind: 'sticker', sticker: bytesOf(stickerFile(tapback.sticker)) }
      : { ...tapback, action };
  await postAction('tapback', { chatId: item.target?.chatId, target: item.target?.guid, ...reaction });
}

const bytesOf = ({ base64, name }: UploadedFile) => ({ bytes: base64, name });
