import { computed } from '@preact/signals';

import { tally } from '../breaks/running.ts';
import { inbox, phone, sentGuids } from '../events.ts';
import { isRaw } from '../inbox/inbox.tsx';
import { opened } from '../wire/wire.tsx';

export type PaneName = 'phone' | 'wire' | 'inbox' | 'breaks';

/** `count` grows when somebody does what the step asks for. */
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
    text: 'Left is Anna’s phone, right the inbox of a CRM. They never meet: all they share is the service between them, and all of it is real traffic on this machine.',
  },
  {
    title: 'Write as Anna',
    text: 'Type something on the phone and press Enter. The Mac sees it, Footbridge calls the CRM, and it stands in the inbox.',
    pane: 'phone',
    count: () => messages.value.filter(({ from }) => from !== 'me').length,
  },
  {
    title: 'Look at the wire',
    text: 'Every call and every frame, in order. Open one: headers, exact bytes, and the call as curl.',
    pane: 'wire',
    count: () => opened.value?.n ?? 0,
  },
  {
    title: 'Answer as the agent',
    text: 'Type in the inbox. The CRM signs a webhook, the Mac sends the text, the phone rings.',
    pane: 'inbox',
    count: () => inbox.value.webhooks.length,
  },
  {
    title: 'What became of it',
    text: 'Pending, then delivered or failed with a reason: the CRM is told about every message, in this order, once each.',
    pane: 'inbox',
    count: () => sentGuids.value.size,
  },
  {
    title: 'Tap back',
    text: 'Hold a bubble, or move to it with the arrow keys and press T. Six Tapbacks, any emoji, a sticker, on both sides.',
    pane: 'phone',
    count: () => messages.value.reduce((sum, { reactions }) => sum + reactions.length, 0),
  },
  {
    title: 'Behind the bubbles',
    text: 'Press Raw in the inbox: groups, voice and tapbacks travel in a footer under the text. The kit takes it off and draws what it says.',
    pane: 'inbox',
    count: () => Number(isRaw.value),
  },
  {
    title: 'Now break it',
    text: 'Thirteen things that go wrong in real life. Each states its promise first. Try “Kill the service”: it really is kill -9.',
    pane: 'breaks',
    count: () => tally.value.tried,
  },
];
