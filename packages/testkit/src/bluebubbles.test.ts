import { DatabaseSync } from 'node:sqlite';

import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';

import { DEFAULT_SETTINGS, startBlueBubbles } from './bluebubbles.ts';
import type { BlueBubblesFault, SimulatedBlueBubbles } from './bluebubbles.ts';
import { createCleanup } from './cleanup.ts';
import { startSimulatedMacos } from './macos.ts';
import type { SimulatedMacos } from './macos.ts';

const ANNA = '+15550001111';
const CHAT = `any;-;${ANNA}`;

const afterwards = createCleanup();
const cleanup = createCleanup();
let macos: SimulatedMacos;
let server: SimulatedBlueBubbles;

beforeAll(async () => {
  macos = await startSimulatedMacos();
  afterwards.add(() => macos.stop());
  server = await startBlueBubbles(macos);
  afterwards.add(() => server.stop());
});
afterAll(() => afterwards.run());
beforeEach(async () => {
  await macos.messages.rebuild();
  await server.control.reset();
  await server.control.configure({ timeScale: 0.001 });
  await macos.messages.write({ from: ANNA, guid: 'TARGET', text: 'Hi' });
  await macos.messages.settled();
});
afterEach(async () => {
  await cleanup.run();
  // A failed test must not keep writes back.
  await macos.messages.release();
  await server.control.endStalls();
});

interface Envelope {
  readonly status: number;
  readonly error?: { readonly message: string };
  readonly data?: { readonly guid?: string; readonly error?: number } | null;
}

const urlOf = (path: string, password = DEFAULT_SETTINGS.password): string =>
  `${server.url}/api/v1${path}?password=${encodeURIComponent(password)}`;

async function post(path: string, fields: object): Promise<Envelope> {
  const response = await fetch(urlOf(path), {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify(fields),
  });
  const envelope = (await response.json()) as Envelope;
  expect(envelope.status).toBe(response.status);
  return envelope;
}

const text = (fields: object = {}): Promise<Envelope> =>
  post('/message/text', { chatGuid: CHAT, message: 'Hello', method: 'private-api', ...fields });
const react = (fields: object): Promise<Envelope> =>
  post('/message/react', { chatGuid: CHAT, selectedMessageGuid: 'TARGET', reaction: 'love', ...fields });

/** Rows of the owner's messages. */
async function rows(): Promise<Record<string, unknown>[]> {
  await server.control.settled();
  await macos.messages.settled();
  const db = new DatabaseSync(macos.storePath, { readOnly: true });
  cleanup.add(() => db.close());
  const columns = `guid, error, is_sent, is_audio_message, thread_originator_guid, associated_message_type,
    associated_message_guid`;
  return db.prepare(`SELECT ${columns} FROM message WHERE is_from_me = 1 ORDER BY ROWID`).all();
}

describe('the simulated BlueBubbles server', () => {
  it('takes the password from the query only', async () => {
    const get = async (url: string, headers = {}) => (await fetch(url, { headers })).status;
    expect(await get(urlOf('/ping'))).toBe(200);
    expect(await get(urlOf('/ping', 'wrong'))).toBe(401);
    expect(await get(`${server.url}/api/v1/ping`, { Authorization: DEFAULT_SETTINGS.password })).toBe(401);
    expect(await get(`${server.url}/`)).toBe(200);
    expect(await get(urlOf('/unknown'))).toBe(404);
  });

  it('responds when the row is there, not when the message was sent', async () => {
    await macos.messages.hold();
    const { status, data } = await text({ tempGuid: 'a' });
    expect(status).toBe(200);
    const db = new DatabaseSync(macos.storePath, { readOnly: true });
    cleanup.add(() => db.close());
    const row = db.prepare('SELECT is_sent FROM message WHERE guid = ?').get(data?.guid ?? '');
    expect(row).toEqual({ is_sent: 0 });
    await macos.messages.release();
    expect(await rows()).toMatchObject([{ is_sent: 1 }]);
  });

  it('sends twice with AppleScript, which it uses unless a field needs the Private API', async () => {
    await text({ method: undefined });
    expect(await rows()).toHaveLength(2);
    await text({ method: undefined, effectId: 'com.apple.messages.effect.CKEchoEffect' });
    expect(await rows()).toHaveLength(3);
  });

  it('uses tempGuid as a lock: a repeat is rejected only while the first is under way', async () => {
    await server.control.configure({ timeScale: 1 });
    await server.control.fail({ faults: [{ stallMs: 300_000 }] });
    const first = text({ tempGuid: 'same' });
    await expect.poll(async () => (await server.control.calls()).length, { timeout: 60_000 }).toBe(1);
    expect((await text({ tempGuid: 'same' })).status).toBe(400);
    await server.control.endStalls();
    expect((await first).status).toBe(200);
    expect((await text({ tempGuid: 'same' })).status).toBe(200);
    expect(await rows()).toHaveLength(2);
  });

  it('finds a chat by its exact GUID only', async () => {
    const { status, error } = await text({ chatGuid: `iMessage;-;${ANNA}` });
    expect({ status, error: error?.message }).toEqual({ status: 500, error: 'Chat does not exist!' });
  });

  it('gives each command to every helper', async () => {
    await server.control.configure({ helpers: 2 });
    await text();
    expect(await rows()).toHaveLength(2);
  });

  it('needs the Private API and a helper of Messages, not of FaceTime', async () => {
    await server.control.configure({ helpers: 0, faceTimeHelper: true });
    expect((await text()).error?.message).toContain('Helper is not connected');
    const info = (await (await fetch(urlOf('/server/info'))).json()) as { data: object };
    expect(info.data).toMatchObject({ helper_connected: true, private_api: true });
    await server.control.configure({ privateApi: false });
    expect((await text()).error?.message).toContain('not enabled');
  });

  it('reports an error that the row already has without its number, and no error of a file', async () => {
    await server.control.configure({ notOnIMessage: [ANNA], sentMs: 0, rowMs: 0 });
    await expect
      .poll(async () => (await text()).error?.message, { timeout: 60_000 })
      .toBe('[500] Message sent with an error. See attached message');
    const form = new FormData();
    for (const [name, value] of Object.entries({ chatGuid: CHAT, name: 'a.txt', method: 'private-api' }))
      form.append(name, value);
    form.append('attachment', new File(['content'], 'a.txt'));
    const sent = await fetch(urlOf('/message/attachment'), { method: 'POST', body: form });
    expect(sent.status).toBe(200);
    expect((await rows()).at(-1)).toMatchObject({ error: 22 });
  });

  it('marks a voice message only for the string "true"', async () => {
    for (const isAudioMessage of ['1', 'true']) {
      const form = new FormData();
      const fields = { chatGuid: CHAT, name: 'a.caf', method: 'private-api', isAudioMessage };
      for (const [name, value] of Object.entries(fields)) form.append(name, value);
      form.append('attachment', new File(['content'], 'a.caf'));
      await fetch(urlOf('/message/attachment'), { method: 'POST', body: form });
    }
    expect((await rows()).map((row) => row['is_audio_message'])).toEqual([0, 1]);
  });

  it('sets and unsets reactions, and writes them in English', async () => {
    await react({});
    await react({ reaction: '-love' });
    expect(await rows()).toMatchObject([
      { associated_message_type: 2000, associated_message_guid: 'p:0/TARGET' },
      { associated_message_type: 3000 },
    ]);
    expect((await react({ reaction: '🎉' })).status).toBe(400);
    expect((await react({ selectedMessageGuid: 'p:0/TARGET' })).status).toBe(400);
  });

  it('uses an existing group for a new chat with the same people', async () => {
    const members = [ANNA, '+15550002222'];
    for (const message of ['One', 'Two'])
      await post('/chat/new', { addresses: members, message, method: 'private-api' });
    const db = new DatabaseSync(macos.storePath, { readOnly: true });
    cleanup.add(() => db.close());
    expect(db.prepare('SELECT count(*) AS n FROM chat WHERE style = 43').get()).toEqual({ n: 1 });
  });

  it('sends a reply as a plain text on request', async () => {
    await server.control.fail({ faults: [{ plain: true }] });
    await text({ selectedMessageGuid: 'TARGET' });
    await text({ selectedMessageGuid: 'TARGET' });
    expect((await rows()).map((row) => row['thread_originator_guid'])).toEqual([null, 'TARGET']);
  });

  it.each<[string, BlueBubblesFault, string, number]>([
    ['Transaction timeout with the row', { silent: true }, 'Transaction timeout', 1],
    ['Transaction timeout without it', { silent: true, effect: false }, 'Transaction timeout', 0],
    ['a row that comes later', { rowMs: 90_000 }, 'not found in database after 60 seconds', 1],
    ['data null', { reply: { send: 'data_null' } }, 'See attached message error code', 1],
    ['504', { reply: { send: 'gateway_timeout' } }, 'timed-out', 1],
    ['Messages quitting', { messagesDownMs: 1000 }, 'Transaction timeout', 1],
    ['a refusal', { reply: { refuse: 'Failed to send message!' } }, 'Failed to send message!', 0],
  ])('fails with %s', async (_, fault, error, sent) => {
    await server.control.fail({ faults: [fault] });
    expect((await text()).error?.message).toContain(error);
    expect(await rows()).toHaveLength(sent);
  });

  it.each(['stale', 'foreign'] as const)('returns a %s GUID', async (guid) => {
    const earlier = await text();
    const other = await post('/chat/new', {
      addresses: ['+15550003333'],
      message: 'Other',
      method: 'private-api',
    });
    expect(other.status).toBe(200);
    await server.control.fail({ faults: [{ guid }] });
    const { data } = await text({ message: 'Newer' });
    const [first, second, third] = await rows();
    expect(data?.guid).toBe(guid === 'stale' ? earlier.data?.guid : second?.['guid']);
    expect(first?.['guid']).toBe(earlier.data?.guid);
    expect(third?.['guid']).not.toBe(data?.guid);
  });

  it('cuts the connection when it restarts, and listens on the same port again', async () => {
    await server.control.fail({ faults: [{ serverDownMs: 1 }] });
    await expect(text()).rejects.toThrow('fetch failed');
    expect(await rows()).toHaveLength(1);
    await expect
      .poll(
        () =>
          fetch(urlOf('/ping')).then(
            ({ status }) => status,
            () => 0,
          ),
        { timeout: 60_000 },
      )
      .toBe(200);
  });

  it.each(['html', 'huge', 'half_json', 'not_an_envelope'] as const)('responds with %s', async (send) => {
    await server.control.fail({ faults: [{ reply: { send } }] });
    const response = await fetch(urlOf('/message/text'), {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify({ chatGuid: CHAT, message: 'Hello', method: 'private-api' }),
    });
    const body = await response.text();
    if (send === 'huge') expect(body.length).toBeGreaterThan(10_000_000);
    else expect(body).toMatch(/^<html>|^\{"status":200,"message":"Mess$|^\[1,2,3\]$/);
  });
});
