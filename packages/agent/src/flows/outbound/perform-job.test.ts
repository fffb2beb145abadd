import { readFileSync } from 'node:fs';
import { join } from 'node:path';

import { noFailpoints } from '@footbridge/runtime/failpoints';
import { writeFooter } from '@footbridge/protocol/footer';
import { FakeClock } from '@footbridge/testkit/fake-clock';
import { sendFrame } from '@footbridge/testkit/send-frame';
import { silentLog } from '@footbridge/testkit/silent-log';
import { beforeEach, describe, expect, it } from 'vitest';

import { openJournal } from '../../journal/journal-sqlite.ts';
import type { Journal } from '../../journal/journal.ts';
import { StoreUnavailableError } from '../../ports/messages/messages.ts';
import type {
  Chat,
  Destination,
  ExpectedMessage,
  Messages,
  MessageStore,
  OutgoingMessage,
} from '../../ports/messages/messages.ts';
import type { JobDeps } from './job-deps.ts';
import { performJob } from './perform-job.ts';
import { stepsOf } from './steps.ts';
import type { Held } from './held-jobs.ts';
import type { JobOutcome } from '../../outcome.ts';

const ANNA = '+15550100001';
const BERT = '+15550100002';
const CHAT: Chat = {
  id: 7,
  key: 'chat',
  isGroup: false,
  recipients: [ANNA],
  service: 'iMessage',
  services: ['iMessage'],
};
const STICKER_URL = 'https://files.example/sticker.png';

const CRASHED_AT = 3;

/** The state of the Mac when the job is performed. */
interface MacState {
  readonly automation?: boolean;
  /** Whether the chat and the message to reply or react to exist. */
  readonly hasTarget?: boolean;
  readonly readable?: boolean;
  readonly isAmbiguous?: boolean;
  /** The kind of the files that can be downloaded. Undefined: they are gone. */
  readonly mime?: string;
  /** The interrupted sticker reaction is in the store. */
  readonly hasReacted?: boolean;
}

let journal: Journal;
let lookedFor: { message: ExpectedMessage; destination: Destination }[];
let sent: OutgoingMessage[];
beforeEach(() => {
  journal = openJournal(':memory:');
  lookedFor = [];
  sent = [];
});

/** The step began before the agent was killed. */
const begun = (step: string, fileName?: string): void =>
  journal.jobs.beginStep('job', step, CRASHED_AT, { content: 'content', fileName, at: 0 });
/** The step was sent, and recorded, before the agent was killed. */
function recorded(step: string): void {
  begun(step);
  journal.jobs.finishStep('job', step, 'RECORDED');
}

/** Performs a job. An interrupted send is found in the store. */
async function perform(
  footer: object,
  frame: { message?: string; attachments?: string[] } = {},
  state: MacState = {},
): Promise<JobOutcome | Held> {
  const { automation = true, hasTarget = true, readable = true, isAmbiguous = false } = state;
  const { mime, hasReacted = false } = state;
  let written: string | undefined;
  const read =
    <T>(value: T) =>
    (): T => {
      if (!readable) throw new StoreUnavailableError('denied');
      return value;
    };
  const store = {
    position: read(9),
    chat: read(hasTarget ? CHAT : undefined),
    ownHandles: read([]),
    groupOf: read(isAmbiguous ? 'ambiguous' : undefined),
    rowByGuid: read(hasTarget ? { chatId: CHAT.id } : undefined),
    ownReaction: () => (hasReacted ? { kind: 'sticker', fileName: written } : read(undefined)()),
  } as unknown as MessageStore;
  const messages = {
    store,
    environment: () => ({ macos: '26.1', automation, accessibility: true }),
    outcomeOf: (message: ExpectedMessage, destination: Destination) => {
      lookedFor.push({ message, destination });
      return Promise.resolve({ state: 'delivered', guid: 'SENT' });
    },
    send: (message: OutgoingMessage) => {
      sent.push(message);
      return Promise.resolve({ state: 'delivered', guid: 'NEW' });
    },
  } as unknown as Messages;
  const clock = new FakeClock();
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
      workOn: () => {},
    }),
    downloads: {
      fetch: () =>
        Promise.resolve(
          mime === undefined
            ? { ok: false, reason: 'failed', message: 'gone' }
            : { ok: true, file: { path: '/scratch/a', name: 'a', mime } },
        ),
    },
    scratch: {
      folder: () => Promise.resolve('/scratch'),
      write: (name) => Promise.resolve((written = name)),
      read: () => Promise.resolve(readFileSync(join(import.meta.dirname, 'fixtures/sticker.jpg'))),
    },
    pacing: {
      pause: () => Promise.resolve(),
      count: () => undefined,
      reached: () => undefined,
    } as unknown as JobDeps['pacing'],
    settings: { confirmMs: 0, channel: 'auto' },
    workOn: () => {},
  };
  const { message = 'Hello', attachments = [] } = frame;
  const text = writeFooter(message, { chat_id: CHAT.id, ...footer });
  return await performJob(sendFrame({ phone: ANNA, message: text, attachments }), deps as JobDeps);
}

const EFFECT = { animation: { effect: 'slam' } };
const REPLY = { reply_to: { message_guid: 'TARGET' } };
const GROUP = { chat_id: undefined, is_group: true, recipients: [ANNA, BERT] };
const REACTION = {
  reaction: { kind: 'classic', type: 'love', action: 'add', target_message_guid: 'TARGET' },
};
const STICKER = { sticker: { url: STICKER_URL, name: 'dot' } };
const STICKER_REACTION = {
  reaction: { kind: 'sticker', action: 'add', target_message_guid: 'TARGET', sticker: { url: STICKER_URL } },
};
const GONE: MacState = { hasTarget: false };

describe('M4 a send whose preconditions no longer hold', () => {
  it.each<[string, string, object, MacState]>([
    ['effect while screen actions are off', 'text', EFFECT, { automation: false }],
    ['effect with a name that is now unknown', 'text', { animation: { effect: 'old' } }, {}],
    ['reply whose target is gone', 'text', REPLY, GONE],
    ['text to a group that now has a twin', 'text', GROUP, { isAmbiguous: true }],
    ['sticker while screen actions are off', 'sticker', STICKER, { automation: false }],
    ['sticker whose chat is gone', 'sticker', STICKER, GONE],
    ['reaction whose target is gone', 'press', REACTION, GONE],
    ['reaction while screen actions are off', 'press', REACTION, { automation: false }],
    ['text while the store cannot be read', 'text', {}, { readable: false }],
    ['reaction while the store cannot be read', 'press', REACTION, { readable: false }],
  ])('M4 reports a recorded %s as delivered', async (_name, step, footer, state) => {
    recorded(step);
    expect(await perform(footer, {}, state)).toMatchObject({ state: 'delivered' });
    expect(sent).toEqual([]);
  });

  it.each<[string, string, object, MacState]>([
    ['effect while screen actions are off', 'text', EFFECT, { automation: false }],
    ['reply whose target is gone', 'text', { ...REPLY, chat_id: undefined }, GONE],
    ['text to a group that now has a twin', 'text', GROUP, { isAmbiguous: true }],
    ['sticker while screen actions are off', 'sticker', STICKER, { automation: false }],
  ])('M4 looks for an interrupted %s', async (_name, step, footer, state) => {
    begun(step, step === 'sticker' ? 'sticker-1.png' : undefined);
    expect(await perform(footer, {}, state)).toEqual({ state: 'delivered', guid: 'SENT' });
    expect(lookedFor).toHaveLength(1);
    expect(sent).toEqual([]);
  });

  it('M4 does not call an interrupted sticker failed when its chat is gone', async () => {
    begun('sticker', 'sticker-1.png');
    expect(await perform(STICKER, {}, GONE)).toMatchObject({ state: 'unknown', code: 'INTERNAL_ERROR' });
  });

  it('M4 sends the files that follow a recorded effect, which need no screen actions', async () => {
    recorded('text');
    const attachments = ['https://files.example/a'];
    const state = { automation: false, mime: 'image/png' };
    expect(await perform(EFFECT, { attachments }, state)).toEqual({ state: 'delivered', guid: 'RECORDED' });
    expect(sent).toMatchObject([{ kind: 'file' }]);
  });

  it.each<[string, object, MacState, string]>([
    ['an effect while screen actions are off', EFFECT, { automation: false }, 'UI_AUTOMATION_DISABLED'],
    ['a reply whose target is gone', { ...REPLY, chat_id: undefined }, GONE, 'TARGET_NOT_FOUND'],
    ['a text to one of two groups', GROUP, { isAmbiguous: true }, 'IMESSAGE_GROUP_INVALID_RECIPIENTS'],
    ['a sticker while screen actions are off', STICKER, { automation: false }, 'UI_AUTOMATION_DISABLED'],
  ])('M3 does not send %s', async (_name, footer, state, code) => {
    expect(await perform(footer, {}, state)).toMatchObject({ state: 'failed', code });
    expect(sent).toEqual([]);
  });
});

it('M4 does not say that nothing was sent when a part was', async () => {
  recorded('text');
  const outcome = await perform(
    { voice: { duration_ms: 1 } },
    { attachments: ['https://files.example/a'] },
    { mime: 'text/html' },
  );
  expect(outcome).toMatchObject({
    state: 'failed',
    message:
      'The first attachment of a voice message must be an audio file. (1 of 2 parts had already been sent)',
  });
});

it('M4 looks for an interrupted sticker by its name when its image cannot be downloaded again', async () => {
  begun('sticker', 'sticker-1.png');
  expect(await perform(STICKER)).toMatchObject({ state: 'delivered' });
  const message = { kind: 'sticker', file: { name: 'sticker-1.png' }, description: 'dot' };
  expect(lookedFor).toEqual([{ message, destination: { to: 'chat', chatId: CHAT.id } }]);
});

it.each([true, false])(
  'M4 does not say that an interrupted sticker reaction failed when its image cannot be compared (screen actions: %s)',
  async (automation) => {
    begun('press');
    expect(await perform(STICKER_REACTION, {}, { automation })).toMatchObject({
      state: 'unknown',
      code: 'INTERNAL_ERROR',
    });
  },
);

it('M4 finds an interrupted sticker reaction by its image while screen actions are off', async () => {
  begun('press');
  const state = { automation: false, mime: 'image/jpeg', hasReacted: true };
  expect(await perform(STICKER_REACTION, {}, state)).toEqual({ state: 'delivered', guid: undefined });
});

it('M4 reports a recorded sticker reaction as delivered when its image cannot be downloaded again', async () => {
  recorded('press');
  expect(await perform(STICKER_REACTION)).toEqual({ state: 'delivered', guid: undefined });
});
