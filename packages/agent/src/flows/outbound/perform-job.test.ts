import { noFailpoints } from '@footbridge/runtime/failpoints';
import { writeFooter } from '@footbridge/protocol/footer';
import { FakeClock } from '@footbridge/testkit/fake-clock';
import { sendFrame } from '@footbridge/testkit/send-frame';
import { silentLog } from '@footbridge/testkit/silent-log';
import { beforeEach, expect, it } from 'vitest';

import { openJournal } from '../../ports/journal/journal-sqlite.ts';
import type { Journal } from '../../ports/journal/journal.ts';
import type { Chat, ExpectedMessage, Messages, MessageStore } from '../../ports/messages/messages.ts';
import type { JobDeps } from './job-deps.ts';
import type { Held, Outcome } from './outcome.ts';
import { performJob } from './perform-job.ts';
import { stepsOf } from './steps.ts';

const ANNA = '+15550100001';
const CHAT: Chat = {
  id: 7,
  key: 'chat',
  isGroup: false,
  recipients: [ANNA],
  service: 'iMessage',
  services: ['iMessage'],
};
const STICKER_URL = 'https://files.example/sticker.png';

let clock: FakeClock;
let journal: Journal;
let lookedFor: ExpectedMessage[];
beforeEach(() => {
  clock = new FakeClock();
  journal = openJournal(':memory:');
  lookedFor = [];
});

/** Performs a job after a crash in the middle of one of its steps. */
async function afterCrash(step: string, footer: object, fileName?: string): Promise<Outcome | Held> {
  journal.jobs.beginStep('job', step, 3, { content: 'content', fileName, at: 0 });
  return await perform(footer);
}

/** Performs a job whose files cannot be downloaded. */
async function perform(footer: object): Promise<Outcome | Held> {
  const store = {
    chat: () => CHAT,
    ownHandles: () => [],
    rowByGuid: () => ({ chatId: CHAT.id }),
    ownReaction: () => undefined,
  } as unknown as MessageStore;
  const messages = {
    store,
    environment: () => ({ macos: '26.1', automation: true, accessibility: true }),
    outcomeOf: (message: ExpectedMessage) => {
      lookedFor.push(message);
      return Promise.resolve({ result: 'sent', guid: 'SENT' });
    },
  } as unknown as Messages;
  const { jobs } = journal;
  const deps: Partial<JobDeps> = {
    messages,
    clock,
    steps: stepsOf('job', {
      jobs,
      store,
      clock,
      log: silentLog,
      failpoint: noFailpoints,
      timeoutMs: 300_000,
    }),
    downloads: { fetch: () => Promise.resolve({ ok: false, reason: 'failed', message: 'gone' }) },
    scratch: { folder: () => Promise.resolve('/scratch') } as JobDeps['scratch'],
    settings: { confirmMs: 0, channel: 'auto' },
  };
  const frame = sendFrame({ phone: ANNA, message: writeFooter('Hello', { chat_id: CHAT.id, ...footer }) });
  return await performJob(frame, deps as JobDeps);
}

it('M4 looks for an interrupted sticker by its name when its image cannot be downloaded again', async () => {
  const sticker = { url: STICKER_URL, name: 'dot' };
  expect(await afterCrash('sticker', { sticker }, 'sticker-1.png')).toMatchObject({ state: 'delivered' });
  expect(lookedFor).toEqual([{ kind: 'sticker', file: { name: 'sticker-1.png' }, description: 'dot' }]);
});

it('M4 does not say that an interrupted sticker reaction failed when its image cannot be compared', async () => {
  const reaction = {
    kind: 'sticker',
    action: 'add',
    target_message_guid: 'TARGET',
    sticker: { url: STICKER_URL },
  };
  const outcome = await afterCrash('press', { reaction });
  expect(outcome).toMatchObject({ state: 'unknown', code: 'INTERNAL_ERROR' });
});

it('M4 reports a recorded sticker reaction as delivered when its image cannot be downloaded again', async () => {
  const target_message_guid = 'TARGET';
  const reaction = { kind: 'sticker', action: 'add', target_message_guid, sticker: { url: STICKER_URL } };
  journal.jobs.beginStep('job', 'press', 3);
  journal.jobs.finishStep('job', 'press', target_message_guid);
  expect(await perform({ reaction })).toEqual({ state: 'delivered', guid: undefined });
});
