import { createServer } from 'node:http';
import type { RequestListener } from 'node:http';
import { createServer as createTlsServer } from 'node:https';

import { systemClock } from '@footbridge/runtime/clock';
import { DEFAULT_SETTINGS, startBlueBubbles } from '@footbridge/testkit/bluebubbles';
import type { BlueBubblesSettings, SimulatedBlueBubbles } from '@footbridge/testkit/bluebubbles';
import { certificateFor } from '@footbridge/testkit/certificate';
import { createCleanup } from '@footbridge/testkit/cleanup';
import { closeHttp, listen } from '@footbridge/testkit/loopback';
import { startSimulatedMacos } from '@footbridge/testkit/macos';
import type { SimulatedMacos } from '@footbridge/testkit/macos';
import { silentLog } from '@footbridge/testkit/silent-log';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';

import { BlueBubblesMessages } from '../messages-bluebubbles.ts';
import type { StoredRow } from '../messages.ts';
import { activityFinding, checkBlueBubbles, featureFindings, findBlueBubbles } from './check-server.ts';
import type { ServerCheck } from './check-server.ts';
import { Features } from './features.ts';

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
beforeEach(() => server.control.reset());
afterEach(() => cleanup.run());

const { password } = DEFAULT_SETTINGS;
const check = (url = server.url, given = password): Promise<ServerCheck> =>
  checkBlueBubbles({ url, password: given, clock: systemClock });

const memory = { load: () => undefined, save: () => undefined };

async function open(url = server.url, given = password): Promise<BlueBubblesMessages> {
  const opened = await BlueBubblesMessages.open({
    home: macos.home,
    programs: macos.commands,
    url,
    password: given,
    memory,
    features: memory,
    clock: systemClock,
    log: silentLog,
  });
  cleanup.add(() => opened.close());
  return opened;
}

/** Another program on the port. */
async function otherProgram(handle: RequestListener): Promise<string> {
  const other = createServer(handle);
  cleanup.add(() => closeHttp(other));
  return `http://127.0.0.1:${await listen(other)}`;
}

describe('a check of BlueBubbles', () => {
  it('finds everything in order', async () => {
    const { state, findings, version, signedIn, services } = await check();
    expect({ state, version, signedIn, services }).toEqual({
      state: 'ready',
      version: '1.9.9',
      signedIn: true,
      services: ['iMessage', 'SMS'],
    });
    expect(findings.map((finding) => `${finding.check} ${finding.state}`)).toEqual([
      'BlueBubbles pass',
      'Version pass',
      'Private API pass',
      'Helper pass',
      'Account pass',
    ]);
  });

  it.each<[string, Partial<BlueBubblesSettings>, ServerCheck['state'], string]>([
    ['the Private API is turned off', { privateApi: false }, 'refused', 'two or three times'],
    [
      'it is turned off and the server does not say so',
      { privateApi: false, infoFails: true },
      'refused',
      'Private API',
    ],
    ['the version is too old', { version: '1.8.0' }, 'refused', '1.8.0 is too old'],
    ['the helper is not connected', { helpers: 0 }, 'waiting', 'Helper'],
    ['only the helper of FaceTime is connected', { helpers: 0, faceTimeHelper: true }, 'waiting', 'Helper'],
    ['Messages is signed out', { appleId: null }, 'ready', 'not signed in'],
  ])('says that %s', async (_, settings, state, part) => {
    await server.control.configure(settings);
    const found = await check();
    expect(found.state).toBe(state);
    const problem = found.findings.find((finding) => finding.state === 'fail');
    expect(JSON.stringify(problem)).toContain(part);
    expect(problem?.next).toBeDefined();
  });

  it('trusts the helper when the server cannot tell its version', async () => {
    await server.control.configure({ infoFails: true });
    const { state, findings } = await check();
    expect(state).toBe('ready');
    expect(findings.find((finding) => finding.check === 'Version')).toMatchObject({ state: 'warn' });
  });

  it('says that the password is wrong, and does not quote it', async () => {
    const found = await check(server.url, 'wrong-one');
    expect(found).toMatchObject({ state: 'refused', findings: [{ sentence: 'the password is wrong' }] });
    expect(JSON.stringify(found)).not.toContain('wrong-one');
  });

  it.each<[string, RequestListener]>([
    ['HTML', (_, response) => response.end('<html>Not BlueBubbles</html>')],
    ['10 MB', (_, response) => response.end(`"${'x'.repeat(10_000_000)}"`)],
    ['JSON of another kind', (_, response) => response.end('{"ok":true}')],
    ['a redirect', (_, response) => response.writeHead(302, { location: 'http://192.0.2.1/' }).end()],
  ])('recognises another program on the port: %s', async (_, handle) => {
    const url = await otherProgram(handle);
    expect(await check(url)).toMatchObject({
      state: 'refused',
      findings: [{ sentence: expect.stringContaining('another program') }],
    });
    expect(await findBlueBubbles(systemClock, url)).toBe('other_program');
  });

  it.each([{}, [], null, 'pong'])('does not accept %j as a response of the helper', async (data) => {
    const url = await otherProgram((_, response) => response.end(JSON.stringify({ status: 200, data })));
    const { state, findings } = await check(url);
    expect(state).toBe('waiting');
    expect(findings.at(-1)).toMatchObject({ check: 'Helper', state: 'fail' });
  });

  it('does not use a port that speaks TLS', async () => {
    const other = createTlsServer(certificateFor('localhost'), (_, response) => response.end('{}'));
    cleanup.add(() => closeHttp(other));
    const url = `http://127.0.0.1:${await listen(other)}`;
    const { state, findings } = await check(url);
    expect(state).not.toBe('ready');
    expect(findings[0]?.next).toContain('certificate');
  });

  it('finds a server without its password', async () => {
    expect(await findBlueBubbles(systemClock, server.url)).toBe('found');
    const other = createServer();
    const url = `http://127.0.0.1:${await listen(other)}`;
    await closeHttp(other);
    expect(await findBlueBubbles(systemClock, url)).toBe('absent');
    expect(await check(url)).toMatchObject({ state: 'waiting', findings: [{ sentence: 'not running' }] });
  });
});

describe('the engine', () => {
  it('does not start without the Private API, and says why and which engine works', async () => {
    await server.control.configure({ privateApi: false });
    await expect(open()).rejects.toMatchObject({
      name: 'EngineRefusedError',
      message: expect.stringMatching(/two or three times.*System Integrity Protection on/s),
    });
  });

  it('does not start with a wrong password or an old version', async () => {
    await expect(open(server.url, 'wrong')).rejects.toThrow('password is wrong');
    await server.control.configure({ version: '1.8.5' });
    await expect(open()).rejects.toThrow('too old');
  });

  it('starts without capabilities, and gets them once the helper is connected', async () => {
    await server.control.configure({ helpers: 0 });
    const messages = await open();
    expect(messages.capabilities()).toEqual([]);
    expect(messages.environment()).toMatchObject({
      macos: '26.1',
      withoutScreen: true,
      report: { messages: { running: false } },
    });
    const nowhere = { to: 'chat', chatId: 4711 } as const;
    expect(await messages.send({ kind: 'text', text: 'Hi' }, nowhere)).toMatchObject({
      state: 'failed',
      message: expect.stringContaining('Helper'),
    });
    await server.control.configure({ helpers: 1 });
    await messages.send({ kind: 'text', text: 'Hi' }, nowhere);
    expect(messages.capabilities()).toEqual([
      'text',
      'groups',
      'attachments',
      'voice',
      'animations',
      'replies',
      'untested:replies',
      'reactions',
      'untested:reactions',
    ]);
  });
});

describe('the experience with this Mac', () => {
  it('is forgotten after a day and with other versions', () => {
    let now = 0;
    const features = new Features(memory, { now: () => now });
    features.setVersions('25B78 1.9.9');
    features.worked('reactions');
    features.failed('replies');
    expect([features.state('replies'), features.state('reactions')]).toEqual(['untested', 'works']);
    features.failed('replies');
    expect(features.state('replies')).toBe('failed');
    expect(featureFindings(features).map(({ state }) => state)).toEqual(['warn', 'pass']);
    now = 25 * 3600_000;
    expect(features.state('replies')).toBe('untested');
    features.failed('replies');
    expect(features.state('replies')).toBe('failed');
    features.setVersions('25B78 1.9.10');
    expect([features.state('replies'), features.state('reactions')]).toEqual(['untested', 'untested']);
  });

  it('includes messages that were sent more than once', () => {
    const features = new Features(memory, { now: () => 0 });
    features.sentTwice();
    features.sentTwice();
    expect(featureFindings(features).at(-1)).toMatchObject({
      state: 'warn',
      sentence: expect.stringContaining('2 messages'),
      next: expect.stringContaining('helpers'),
    });
  });

  it('includes when messages were last sent and received', () => {
    const week = 7 * 24 * 3600_000;
    const row = (fromMe: boolean, sentAt: number) => ({ fromMe, sentAt }) as StoredRow;
    const store = { newestRowid: () => 2, rowsAfter: () => [row(true, 1000), row(false, 2000)] };
    expect(activityFinding(store, week)).toMatchObject({
      state: 'pass',
      sentence: expect.stringContaining('sent: 1970-01-01T00:00:01.000Z, received: 1970-01-01T00:00:02.000Z'),
    });
    expect(activityFinding(store, week + 2001)).toMatchObject({ state: 'warn' });
  });
});
