import { spawnSync } from 'node:child_process';
import { appendFileSync, closeSync, openSync, readFileSync, writeFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';

import { createCleanup, tempDir } from '@footbridge/testkit/cleanup';
import { MessagesApp } from '@footbridge/simulator/messages-app';
import { SkippingClock } from '@footbridge/testkit/skipping-clock';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import { MacReader } from './mac-reader.ts';
import { StoreUnavailableError } from '../messages.ts';
import type { Destination, MessageStore, OutgoingMessage } from '../messages.ts';
import { LastDispatch } from './last-dispatch.ts';
import { recoverOutcome } from './recover-outcome.ts';
import type { Outcome } from '../../../outcome.ts';

const ANNA = '+15550100001';
const TO_ANNA = { to: 'person', handle: ANNA, service: 'iMessage' } as const;
const HELLO = { kind: 'text', text: 'Hello' } as const;
const FILE = { kind: 'file', file: { path: '/a.heic', name: 'a.heic', mime: 'image/heic' } } as const;
const NOT_SENT = { state: 'failed', code: 'INTERNAL_ERROR' };

const cleanup = createCleanup();
let app: MessagesApp;
let reader: MacReader;
let record: LastDispatch;
let clock: SkippingClock;
beforeEach(async () => {
  const home = await tempDir(cleanup);
  app = new MessagesApp(home, 26);
  cleanup.add(() => app.close());
  clock = new SkippingClock({ stopped: true });
  const memory = { load: () => undefined, save: () => undefined };
  reader = new MacReader({ folders: { home, messages: join(home, 'Library/Messages') }, memory, clock });
  cleanup.add(() => reader.close());
  record = new LastDispatch(join(home, 'record/last-send.jsonl'));
});
afterEach(() => cleanup.run());

const write = (step: string): void => appendFileSync(record.path, `${JSON.stringify({ step })}\n`);
const recover = (
  message: OutgoingMessage = HELLO,
  destination: Destination = TO_ANNA,
  since = reader.store.position(),
): Promise<Outcome> =>
  recoverOutcome(message, destination, since, { store: reader.store, clock, lastDispatch: record });
const recovered = (message: OutgoingMessage = HELLO, destination: Destination = TO_ANNA): Promise<Outcome> =>
  clock.skipThrough(recover(message, destination));

/** Writes a message of the owner. */
async function writeOwn(message: { text: string; attachments?: (typeof PHOTO)[] }): Promise<void> {
  app.write({ from: 'me', chat: { members: [ANNA], service: 'iMessage' }, ...message });
  await app.settled();
}

/** The id of a process that has ended. */
const deadPid = (): number => spawnSync(process.execPath, ['--version']).pid;

describe('M4 an interrupted send', () => {
  it('M4 was not made when the last program sent an earlier message', async () => {
    record.begin({ kind: 'text', text: 'Earlier' }, reader.store.position());
    record.started(process.pid);
    write('dispatching');
    await writeOwn({ text: 'Earlier' });
    expect(await recovered()).toMatchObject(NOT_SENT);
  });

  it('M4 is unknown when another send has overwritten its record', async () => {
    const since = reader.store.position();
    await writeOwn({ text: 'Line check' });
    record.begin({ kind: 'text', text: 'Line check' }, reader.store.position());
    record.started(deadPid());
    write('unresolved');
    expect(await clock.skipThrough(recover(HELLO, TO_ANNA, since))).toMatchObject({ state: 'unknown' });
  });

  it('M4 was not made when its program did not get its input', async () => {
    record.begin(HELLO, reader.store.position());
    expect(await recovered()).toMatchObject(NOT_SENT);
  });

  it('M4 was not made when its program ended before the dispatch', async () => {
    record.begin(HELLO, reader.store.position());
    record.started(deadPid());
    expect(await recovered()).toMatchObject(NOT_SENT);
    record.begin(HELLO, reader.store.position());
    record.started(process.pid);
    write('unresolved');
    expect(await recovered()).toMatchObject(NOT_SENT);
  });

  it('M4 is unknown when its program may have made it and there is no row', async () => {
    record.begin(HELLO, reader.store.position());
    record.started(deadPid());
    write('dispatching');
    expect(await recovered()).toMatchObject({ state: 'unknown' });
  });

  it('M4 of a file is unknown when the file that was downloaded again has another name', async () => {
    const file = { path: '/a.png', name: 'export-1.png', mime: 'image/png' };
    record.begin({ kind: 'file', file }, reader.store.position());
    record.started(deadPid());
    write('dispatching');
    const renamed = { kind: 'file', file: { ...file, name: 'export-2.png' } } as const;
    expect(await recovered(renamed)).toMatchObject({ state: 'unknown' });
  });

  it.each([
    ['a text', HELLO],
    ['a file', { kind: 'file', file: { path: '/a.png', name: 'a.png', mime: 'image/png' } }],
  ] as const)(
    'M4 of %s was not made when the last program sent an equal one before it',
    async (_name, message) => {
      record.begin(message, reader.store.position());
      record.started(deadPid());
      write('dispatching');
      await writeOwn({ text: 'Hello' });
      expect(await recovered(message)).toMatchObject(NOT_SENT);
    },
  );

  it('M4 is unknown after a restart of the Mac, which can lose the last lines of the record', async () => {
    const before = new LastDispatch(record.path, () => 1_000);
    before.begin(HELLO, reader.store.position());
    before.started(deadPid());
    expect(await recovered()).toMatchObject({ state: 'unknown' });
  });

  it('M4 is unknown after a restart of the Mac that may have lost its record and left an earlier one', async () => {
    new LastDispatch(record.path, () => 1_000).begin(
      { kind: 'text', text: 'Earlier' },
      reader.store.position(),
    );
    await writeOwn({ text: 'Earlier' });
    expect(await recovered()).toMatchObject({ state: 'unknown' });
  });

  it('M4 is not mistaken for an earlier send whose program still runs', async () => {
    record.begin({ kind: 'text', text: 'Earlier' }, reader.store.position());
    const output = openSync(record.path, 'a');
    record.begin(HELLO, reader.store.position());
    record.started(deadPid());
    writeSync(output, '{"step":"dispatching"}\n');
    closeSync(output);
    expect(await recovered()).toMatchObject(NOT_SENT);
  });

  it('M4 is unknown while its program runs, and found when the program goes on', async () => {
    record.begin(HELLO, reader.store.position());
    record.started(process.pid);
    expect(await recovered()).toMatchObject({ state: 'unknown' });
    const outcome = recover();
    await clock.skip(5000);
    write('dispatching');
    await clock.skip(5000);
    await writeOwn({ text: 'Hello' });
    expect(await clock.skipThrough(outcome)).toMatchObject({ state: 'delivered' });
  });

  it('M4 that was made on the screen, or to a group, is decided by the row alone', async () => {
    const group: Destination = { to: 'group', recipients: [ANNA, '+15550100002'], service: 'iMessage' };
    expect(await recovered(HELLO, group)).toMatchObject({ state: 'unknown' });
    expect(await recovered({ ...HELLO, effect: 'slam' })).toMatchObject({
      state: 'unknown',
    });
    expect(await recovered({ ...HELLO, replyTo: 'GUID' })).toMatchObject({
      state: 'unknown',
    });
  });

  it('M4 leaves no text in the record', () => {
    record.begin(HELLO, reader.store.position());
    expect(readFileSync(record.path, 'utf8')).not.toContain('Hello');
  });
});

const PHOTO = { name: 'a.jpeg', mime: 'image/jpeg', base64: 'eA==' };

describe('M4 an interrupted send without a record, which a cleanup tool can remove', () => {
  it.each([
    ['text', HELLO],
    ['file', FILE],
  ] as const)('M4 of a %s was not made when Messages has stored nothing since', async (_name, message) => {
    expect(await recovered(message)).toMatchObject(NOT_SENT);
  });

  it('M4 was made when the store has its row', async () => {
    const outcome = recover();
    await writeOwn({ text: 'Hello' });
    expect(await clock.skipThrough(outcome)).toMatchObject({ state: 'delivered' });
  });

  it('M4 was made when its row appears late', async () => {
    const outcome = recover();
    await clock.skip(20_000);
    await writeOwn({ text: 'Hello' });
    expect(await clock.skipThrough(outcome)).toMatchObject({ state: 'delivered' });
  });

  it.each([
    ['text', HELLO],
    ['file', FILE],
  ] as const)(
    'M4 of a %s is unknown when Messages has stored another message since: it may be this one, changed',
    async (_name, message) => {
      const since = reader.store.position();
      await writeOwn({ text: '', attachments: [PHOTO] });
      expect(await clock.skipThrough(recover(message, TO_ANNA, since))).toMatchObject({ state: 'unknown' });
    },
  );

  it('M4 is unknown when its record is damaged and Messages has stored another message since', async () => {
    record.begin(HELLO, reader.store.position());
    writeFileSync(record.path, '{"content":"');
    const since = reader.store.position();
    await writeOwn({ text: 'Hello!' });
    expect(await clock.skipThrough(recover(HELLO, TO_ANNA, since))).toMatchObject({ state: 'unknown' });
  });

  it('M4 is unknown when the store was replaced', async () => {
    const since = reader.store.position() - 2 ** 32;
    expect(await clock.skipThrough(recover(HELLO, TO_ANNA, since))).toMatchObject({ state: 'unknown' });
  });

  it('M4 is unknown while the store cannot be read', async () => {
    const generation = (): never => {
      throw new StoreUnavailableError('locked');
    };
    const store = { state: () => 'locked', generation } as unknown as MessageStore;
    const outcome = recoverOutcome(HELLO, TO_ANNA, 0, { store, clock, lastDispatch: record });
    expect(await clock.skipThrough(outcome)).toMatchObject({ state: 'unknown' });
  });

  it('M4 is unknown when the store has too many new rows to read them all', async () => {
    const rowsAfter = (rowid: number, limit: number) =>
      Array.from({ length: limit }, (_, index) => ({ rowid: rowid + index + 1, fromMe: false }));
    const store = { state: () => 'readable', generation: () => 0, rowsAfter } as unknown as MessageStore;
    const outcome = recoverOutcome(HELLO, TO_ANNA, 0, { store, clock, lastDispatch: record });
    expect(await clock.skipThrough(outcome)).toMatchObject({ state: 'unknown' });
  });
});
