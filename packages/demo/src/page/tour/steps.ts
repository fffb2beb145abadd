import { computed } from '@preact/signals';

import { runs } from '../scenarios/running.ts';
import { inbox, phone } from '../events.ts';
import { isRaw } from '../inbox/inbox.tsx';
import { opened } from '../wire/wire.tsx';

export type PaneName = 'phone' | 'wire' | 'inbox' | 'breaks';

/** `count` increases when the user completes the step. */
export interface Step {
  readonly title: string;
  readonly text: string;
  readonly pane?: PaneName;
  readonly count?: () => number;
}

const messages = computed(() => phone.value?.chats.flatMap((chat) => chat.messages) ?? []);

export const STEPS: readonly Step[] = [
  {
    title: 'Three programs, one conversation',
    text: 'On the left is Anna’s phone, on the right a CRM inbox. Footbridge connects them. All of it is real traffic between real programs on this machine.',
  },
  {
    title: 'Send a text as Anna',
    text: 'Type something on the phone and press Enter. The Mac receives it, Footbridge calls the CRM, and the message appears in the inbox.',
    pane: 'phone',
    count: () => messages.value.filter(({ from }) => from !== 'me').length,
  },
  {
    title: 'Inspect the traffic',
    text: 'The middle pane lists every HTTP call and WebSocket frame in order. Click one to see its headers, its exact bytes, and a curl command.',
    pane: 'wire',
    count: () => opened.value?.n ?? 0,
  },
  {
    title: 'Reply as the agent',
    text: 'Type a reply in the inbox. The CRM signs a webhook, the Mac sends the text, and it appears on the phone.',
    pane: 'inbox',
    count: () => inbox.value.webhooks.length,
  },
  {
    title: 'Follow the status',
    text: 'The CRM receives the status of every message: pending first, then delivered, or failed with a reason.',
    pane: 'inbox',
    count: () => inbox.value.statuses.filter(({ accepted }) => accepted).length,
  },
  {
    title: 'React to a message',
    text: 'Press and hold a bubble, or select it with the arrow keys and press T. Choose a Tapback, any emoji or a sticker. It works on both sides.',
    pane: 'phone',
    count: () => messages.value.reduce((sum, { reactions }) => sum + reactions.length, 0),
  },
  {
    title: 'See the raw messages',
    text: 'Click Raw in the inbox. Groups, voice messages and reactions are described in a footer below the text. The kit parses the footer and removes it from the text.',
    pane: 'inbox',
    count: () => Number(isRaw.value),
  },
  {
    title: 'Now break it',
    text: 'Thirteen failures that happen in production, each with the guarantee that must hold. Try “Kill the service”: it really runs kill -9.',
    pane: 'breaks',
    count: () => runs.value,
  },
];
