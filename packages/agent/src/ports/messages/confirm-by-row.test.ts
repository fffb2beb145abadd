import { join } from 'node:path';

import { createCleanup, tempDir } from '@footbridge/testkit/cleanup';
import { MessagesApp } from '@footbridge/simulator/messages-app';
import type { NewMessage } from '@footbridge/simulator/messages-app';
import { SkippingClock } from '@footbridge/testkit/skipping-clock';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import { confirmByRow } from './confirm-by-row.ts';
import { findSentRows } from './own-rows.ts';
import { MacReader } from './macos/mac-reader.ts';
import type { Destination, OutgoingMessage } from './messages.ts';
import type { Outcome } from '../../outcome.ts';

const ANNA = '+15550100001';
const BERT = '+15550100002';
const BUDGET_MS = 30_000;
const TO_ANNA: Destination = { to: 'person', handle: ANNA, service: 'iMessage' };
const TO_GROUP: Destination = { to: 'group', recipients: [ANNA, BERT], service: 'iMessage' };
const HELLO: OutgoingMessage = { kind: 'text', text: 'Hello' };

const cleanup = createCleanup();
let app: MessagesApp;
let reader: MacReader;
let clock: SkippingClock;
beforeEach(async () => {
  const home = await tempDir(cleanup);
  app = new MessagesApp(home, 26);
  cleanup.add(() => app.close());
  let saved: string | undefined;
  const memory = { load: () => saved, save: (value: string) => void (saved = value) };
  clock = new SkippingClock({ stopped: true });
  reader = new MacReader({ folders: { home, messages: join(home, 'Library/Messages') }, memory, clock });
  cleanup.add(() => reader.close());
});
afterEach(() => cleanup.run());

const own = (message: Partial<NewMessage> = {}): NewMessage => ({
  from: 'me',
  chat: { members: [ANNA], service: 'iMessage' },
  text: 'Hello',
  ...message,
});

async function write(message: NewMessage): Promise<string> {
  const { guid } = app.write(message);
  await app.settled();
  return guid;
}

/** Writes the row of a message that was sent and got an error before the store is read again. */
async function writeSentWithError(error: number): Promise<string> {
  const guid = await write(own());
  app.change({ guid, columns: { error } });
  return guid;
}

/** Confirms a message while `events` happen, each after a number of seconds. */
async function confirm(
  events: readonly (readonly [atSec: number, happens: () => unknown])[],
  { message = HELLO, destination = TO_ANNA }: { message?: OutgoingMessage; destination?: Destination } = {},
): Promise<{ result: Outcome; tookSec: number }> {
  const since = reader.store.position();
  const started = clock.monotonic();
  const confirmed = confirmByRow(
    { message, destination, since, budgetMs: BUDGET_MS },
    { store: reader.store, clock },
  ).then((result) => ({ result, tookSec: Math.round((clock.monotonic() - started) / 1000) }));
  let now = 0;
  for (const [at, happens] of events) {
    await clock.skip((at - now) * 1000);
    await happens();
    now = at;
  }
  return clock.skipThrough(confirmed);
}

describe('the row of a send', () => {
  it.each([
    [1, 'delivered', 1],
    [29, 'delivered', 29],
    [31, 'unknown', 30],
  ])('that appears after %i s makes the outcome %s', async (at, state, tookSec) => {
    expect(await confirm([[at, () => write(own())]])).toMatchObject({ result: { state }, tookSec });
  });

  it('that never appears leaves the outcome unknown', async () => {
    expect(await confirm([])).toMatchObject({ result: { state: 'unknown', code: 'TIMEOUT' }, tookSec: 30 });
  });

  it('may be joined to its chat, get its body and be sent later', async () => {
    let guid = '';
    const late = { join: 20, body: 40, sent: 60 };
    const { result } = await confirm([
      [1, () => app.hold()],
      [2, () => void ({ guid } = app.write(own({ delays: late })))],
      [20, () => app.release()],
      [20, () => app.settled()],
    ]);
    expect(result).toEqual({ state: 'delivered', guid });
  });

  it.each([
    [22, { notOnIMessage: true }],
    [25, {}],
    [34, {}],
    [99, {}],
  ])('with error %i is a certain failure', async (error, more) => {
    const { result } = await confirm([[1, () => write(own({ error }))]]);
    expect(result).toEqual({
      state: 'failed',
      code: 'IMESSAGE_ERROR',
      message: expect.stringContaining(`error ${error}`) as string,
      ...more,
    });
  });

  it('that gets an error after it was sent does not change the outcome', async () => {
    let guid = '';
    const { result, tookSec } = await confirm([
      [1, async () => void (guid = await write(own()))],
      [2, () => app.change({ guid, columns: { error: 22 } })],
    ]);
    expect({ result, tookSec }).toEqual({ result: { state: 'delivered', guid }, tookSec: 1 });
  });

  it.each([22, 25, 34])(
    'that was sent and has error %i leaves the outcome unknown: the message may have arrived',
    async (error) => {
      const { result } = await confirm([[1, () => writeSentWithError(error)]]);
      expect(result).toEqual({
        state: 'unknown',
        code: 'TIMEOUT',
        message: expect.stringContaining(`error ${error}`) as string,
      });
    },
  );

  it('that was sent, got an error and lost the error again is sent', async () => {
    let guid = '';
    const { result } = await confirm([
      [1, async () => void (guid = await writeSentWithError(22))],
      [9, () => app.change({ guid, columns: { error: 0 } })],
    ]);
    expect(result).toEqual({ state: 'delivered', guid });
  });

  it('is the first row when two rows appear', async () => {
    let first = '';
    const { result } = await confirm([
      [1, () => app.hold()],
      [1, () => void ({ guid: first } = app.write(own()))],
      [1, () => void app.write(own())],
      [1, () => app.release()],
    ]);
    expect(result).toEqual({ state: 'delivered', guid: first });
    const rows = findSentRows(reader.store, HELLO, TO_ANNA, reader.store.position() - 2);
    expect(rows?.here).toHaveLength(2);
  });

  it('is not a row in another chat, and the reason says so', async () => {
    const elsewhere = own({ chat: { members: [BERT], service: 'iMessage' } });
    const { result } = await confirm([[1, () => write(elsewhere)]]);
    expect(result).toMatchObject({
      state: 'unknown',
      message: expect.stringContaining('another conversation') as string,
    });
  });

  it('without chat and content means that nothing was sent to a group', async () => {
    const ghost = (): unknown => app.ghost('chat123');
    const { result, tookSec } = await confirm([[1, ghost]], { destination: TO_GROUP });
    expect(result).toMatchObject({
      state: 'failed',
      message: expect.stringContaining('without a chat') as string,
    });
    expect(tookSec).toBeLessThan(10);
  });

  it('is found beside a row without chat and content', async () => {
    const { result } = await confirm(
      [
        [1, () => app.ghost('chat123')],
        [2, () => write(own({ chat: { members: [ANNA, BERT], service: 'iMessage' } }))],
      ],
      { destination: TO_GROUP },
    );
    expect(result).toMatchObject({ state: 'delivered' });
  });

  it('to a person is not a row without chat and content, which the owner caused with a group', async () => {
    const { result } = await confirm([
      [1, () => app.ghost('chat123')],
      [20, () => write(own())],
    ]);
    expect(result).toMatchObject({ state: 'delivered' });
  });

  it('of a file that is joined to its chat late is not a row without content', async () => {
    const file = { path: '/nowhere/a.txt', name: 'a.txt', mime: 'text/plain' };
    const attachments = [{ name: 'a.txt', mime: 'text/plain', base64: 'AAAA' }];
    const { result } = await confirm(
      [
        [1, () => app.hold()],
        [1, () => app.write(own({ text: '', attachments, delays: { join: 1, attachments: 1 } }))],
        [20, () => app.release()],
        [20, () => app.settled()],
      ],
      { message: { kind: 'file', file } },
    );
    expect(result).toMatchObject({ state: 'delivered' });
  });

  it('is not the same text that the iPhone sends to another person in the same second', async () => {
    const phone = own({ chat: { members: [BERT], service: 'iMessage' } });
    let guid = '';
    const { result } = await confirm([
      [1, () => write(phone)],
      [1, async () => void (guid = await write(own()))],
    ]);
    expect(result).toEqual({ state: 'delivered', guid });
  });

  it('is sent when the iPhone sends the same text to the same person and one of the two fails', async () => {
    const { result } = await confirm([
      [1, () => write(own({ error: 22 }))],
      [1, () => write(own())],
    ]);
    expect(result.state, 'an SMS would be a second message').not.toBe('failed');
  });

  it('is not a photo with the same caption, nor the preview of a link', async () => {
    const photo = own({ attachments: [{ name: 'a.png', mime: 'image/png', base64: 'AAAA' }] });
    expect((await confirm([[1, () => write(photo)]])).result.state).toBe('unknown');
    const link = 'https://example.com/a';
    const message = { kind: 'text', text: link } as const;
    let guid = '';
    const { result } = await confirm(
      [[1, async () => void (guid = await write(own({ text: link, linkPreview: true })))]],
      { message },
    );
    expect(result).toEqual({ state: 'delivered', guid });
  });

  it('is not searched for in another store', async () => {
    const { result } = await confirm([
      [1, () => app.rebuild()],
      [2, () => write(own())],
    ]);
    expect(result).toMatchObject({ state: 'unknown' });
  });

  it('cannot be read without the store', async () => {
    const { result } = await confirm([[1, () => app.remove()]]);
    expect(result).toMatchObject({
      state: 'unknown',
      message: expect.stringContaining('absent') as string,
    });
  });

  it.each([
    ['smart quotes', `"Don't" -- she said...`, '“Don’t” — she said…'],
    ['CRLF', 'one\r\ntwo\rthree', 'one\ntwo\nthree'],
    ['space at the ends', '  text \n', 'text'],
    ['a lone surrogate', 'a\ud83db', 'a\ufffdb'],
    ['20,000 characters', 'x'.repeat(20_000), 'x'.repeat(20_000)],
    ['right-to-left text', 'שלום \u200fمرحبا\u200f', 'שלום \u200fمرحبا\u200f'],
    ['only U+FFFC', '\ufffc', '\ufffc'],
    ['U+FFFC in the text', 'a\ufffcb', 'a\ufffcb'],
    ['emoji with joiners', '👩‍👩‍👧', '👩‍👩‍👧'],
    ['decomposed letters', 'e\u0301', '\u00e9'],
  ])('is found with %s', async (_, text, stored) => {
    const { result } = await confirm([[1, () => write(own({ text: stored }))]], {
      message: { kind: 'text', text },
    });
    expect(result.state).toBe('delivered');
  });

  it('is not found with another text', async () => {
    for (const text of ['Hello!', 'hello', '', 'Hello Hello'])
      expect((await confirm([[1, () => write(own({ text }))]])).result.state).toBe('unknown');
  });
});
