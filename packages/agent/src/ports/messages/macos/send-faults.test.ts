import { execFile } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

import { systemClock } from '@footbridge/runtime/clock';
import { createCleanup, tempDir } from '@footbridge/testkit/cleanup';
import { startSimulatedMacos } from '@footbridge/testkit/macos';
import type { SimulatedMacos } from '@footbridge/testkit/macos';
import type { EventFault, SendBehaviour } from '@footbridge/testkit/macos/apple-events';
import type { OsascriptFault } from '@footbridge/testkit/macos/osascript-faults';
import { until } from '@footbridge/testkit/until';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';

import type { OutgoingMessage } from '../messages.ts';
import { ProgramClock } from '../../../../../../tests/agent/program-clock.ts';
import type { FileToSend } from './send-file.fixture.ts';
import { LastDispatch } from './last-dispatch.ts';
import { MacMessages } from './mac-messages.ts';
import type { MacPrograms } from './mac-messages.ts';
import { MacStore } from './mac-store.ts';
import { Osascript } from './osascript.ts';
import { sendByEvent } from './send-by-event.ts';
import type { Outcome } from '../../../outcome.ts';

const ANNA = '+15550100001';
const ACCOUNTS = ['iMessage', 'SMS'].map((service) => ({ service, enabled: true, connection: 'connected' }));

const cleanup = createCleanup();
let macos: SimulatedMacos;
let engine: MacMessages;
let clock: ProgramClock;
let sentBefore: number;
let callsBefore: number;
beforeAll(async () => {
  macos = await startSimulatedMacos();
});
afterAll(() => macos.stop());
beforeEach(async () => {
  clock = new ProgramClock();
  let saved: string | undefined;
  const memory = { load: () => saved, save: (value: string) => void (saved = value) };
  const { home, commands: programs } = macos;
  engine = await MacMessages.open({ home, programs, memory, clock, uiAutomation: true });
  cleanup.add(() => engine.close());
  sentBefore = (await macos.messages.sent()).length;
  callsBefore = await calls('osascript');
});
afterEach(async () => {
  await macos.messages.configure({
    accounts: ACCOUNTS,
    faults: [],
    sends: {},
    notOnIMessage: [],
    running: true,
    startMs: 0,
  });
  await cleanup.run();
});

/** The messages that Messages was asked to send in this test. */
const sent = async () => (await macos.messages.sent()).slice(sentBefore);
const calls = async (program: string) =>
  (await macos.messages.calls()).filter((call) => call.program === program).length;

const NO_MEMORY = { load: () => undefined, save: () => undefined };
const TO_ANNA = { to: 'person', handle: ANNA, service: 'iMessage' } as const;
const HELLO: OutgoingMessage = { kind: 'text', text: 'Hello' };

const never = (): Promise<boolean> => Promise.resolve(false);

/** Sends to Anna and skips all pauses. */
function send(message = HELLO, hangs = never): Promise<Outcome> {
  return finish(engine.send(message, TO_ANNA), hangs);
}

/** Skips all pauses of a send. While a program runs, time is skipped only after `hangs` says that it hangs. */
async function finish(sending: Promise<Outcome>, hangs = never): Promise<Outcome> {
  let isDone = false;
  const finished = sending.finally(() => {
    isDone = true;
  });
  await until(async () => {
    if (clock.programs === 0 || (await hangs())) await clock.skip(5000);
    return isDone;
  });
  return finished;
}

/** Replaces programs of the Mac. */
async function openWith(programs: Partial<MacPrograms>): Promise<void> {
  engine = await MacMessages.open({
    home: macos.home,
    programs: { ...macos.commands, ...programs },
    memory: NO_MEMORY,
    clock,
    uiAutomation: true,
  });
  cleanup.add(() => engine.close());
}

async function writeProgram(name: string, script: string): Promise<string> {
  const path = join(await tempDir(cleanup), name);
  writeFileSync(path, `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  return path;
}

async function file(name: string, content = 'content'): Promise<OutgoingMessage> {
  const path = join(await tempDir(cleanup), 'original');
  writeFileSync(path, content);
  return { kind: 'file', file: { path, name, mime: 'text/plain' } };
}

const NOTHING_SENT = { state: 'failed', code: 'IMESSAGE_ERROR' };
const UNKNOWN = { state: 'unknown', code: 'TIMEOUT' };
const SENT = { state: 'delivered' };

describe('M3 a fault of osascript', () => {
  const started = async (): Promise<boolean> => (await calls('osascript')) > callsBefore;
  const hasSent = async (): Promise<boolean> => (await sent()).length > 0;

  it.each<[OsascriptFault, object, number, (() => Promise<boolean>)?]>([
    ['hang_before', NOTHING_SENT, 0, started],
    ['killed_before', NOTHING_SENT, 0],
    ['garbage', NOTHING_SENT, 0],
    ['half_json', NOTHING_SENT, 0],
    ['silent', NOTHING_SENT, 0],
    ['flood', UNKNOWN, 0],
    ['hang_after', SENT, 1, hasSent],
    ['killed_after', SENT, 1],
    ['garbage_after', SENT, 1],
    ['silent_after', SENT, 1],
  ])('M3 %s has the right outcome', async (fault, outcome, count, hangs) => {
    await macos.messages.breakOsascript({ faults: [fault] });
    expect(await send(HELLO, hangs)).toMatchObject(outcome);
    expect(await sent()).toHaveLength(count);
  });

  it('M3 whose output was removed while it ran does not hide that the message was sent', async () => {
    await macos.messages.breakOsascript({ faults: ['hang_after'] });
    const hasLostItsOutput = async (): Promise<boolean> => {
      if (!(await hasSent())) return false;
      rmSync(join(macos.home, 'Library/Caches/Footbridge'), { recursive: true, force: true });
      return true;
    };
    expect(await send(HELLO, hasLostItsOutput)).toMatchObject(SENT);
    expect(await send()).toMatchObject(SENT);
  });

  it('M3 does not affect the next text', async () => {
    await macos.messages.breakOsascript({ faults: ['killed_before'] });
    expect(await send()).toMatchObject(NOTHING_SENT);
    expect(await send()).toMatchObject(SENT);
  });

  it('M3 missing fails, and nothing was sent', async () => {
    const { osascript } = macos.commands;
    renameSync(osascript, `${osascript}.away`);
    cleanup.add(() => renameSync(`${osascript}.away`, osascript));
    expect(await send()).toMatchObject(NOTHING_SENT);
  });
});

describe('M3 an Apple event error', () => {
  const AX_DENIED = { state: 'failed', code: 'AX_DENIED' };

  it.each<[number, object]>([
    [-1743, AX_DENIED],
    [-1728, NOTHING_SENT],
    [-1700, NOTHING_SENT],
    [-10004, NOTHING_SENT],
    [-4711, NOTHING_SENT],
  ])('M3 %i before the send means that nothing was sent', async (error, outcome) => {
    await macos.messages.configure({ faults: [{ event: 'accounts', error }] });
    const result = await send();
    expect(result).toMatchObject(outcome);
    expect(result).toMatchObject({ message: expect.stringMatching(/-\d+|Automation/) as string });
    expect(await sent()).toEqual([]);
  });

  it.each([-600, -609, -1712])('M3 %i before the send starts Messages, and one is sent', async (error) => {
    await macos.messages.configure({ faults: [{ event: 'accounts', error }] });
    const opened = await calls('open');
    expect(await send()).toMatchObject(SENT);
    expect(await sent()).toHaveLength(1);
    expect(await calls('open')).toBe(opened + 1);
  });

  it.each<[number, object]>([
    [-1743, AX_DENIED],
    [-1728, NOTHING_SENT],
    [-1700, NOTHING_SENT],
    [-600, NOTHING_SENT],
    [-10004, NOTHING_SENT],
    [-609, UNKNOWN],
    [-1712, UNKNOWN],
    [-4711, UNKNOWN],
  ])('M3 %i of the send itself is certain or not, and the send is not repeated', async (error, outcome) => {
    await macos.messages.configure({ faults: [{ event: 'send', error }] });
    expect(await send()).toMatchObject(outcome);
    expect(await sent()).toEqual([]);
  });

  it.each([-1743, -1728, -600, -609, -1712])(
    'M3 %i does not hide that the message was sent',
    async (error) => {
      await macos.messages.configure({ faults: [{ event: 'send', error, effect: true }] });
      expect(await send()).toMatchObject(SENT);
      expect(await sent()).toHaveLength(1);
    },
  );
});

describe('M3 Messages that', () => {
  it.each<[string, EventFault[], object]>([
    [
      'asks for a permission that is not given',
      [{ event: 'accounts', hangMs: 200, error: -1743 }],
      {
        code: 'AX_DENIED',
      },
    ],
    ['lost its permission during the job', [{ event: 'send', error: -1743 }], { code: 'AX_DENIED' }],
    ['quits before the send', [{ event: 'accounts', error: -609, quits: true }], SENT],
    ['quits during the send', [{ event: 'send', error: -609, quits: true }], UNKNOWN],
  ])('M3 %s', async (_, faults, outcome) => {
    await macos.messages.configure({ faults });
    expect(await send()).toMatchObject(outcome);
  });

  it('M3 shows a sheet and does not respond', async () => {
    await macos.messages.configure({ faults: [{ event: 'send', hangMs: 3_600_000 }] });
    const isHanging = async (): Promise<boolean> => (await macos.messages.eventFaults()).length === 0;
    expect(await send(HELLO, isHanging)).toMatchObject(UNKNOWN);
  });

  it('M3 is not running is started, in the background', async () => {
    await macos.messages.configure({ running: false, startMs: 300 });
    expect(await send()).toMatchObject(SENT);
    expect((await macos.messages.calls()).findLast(({ program }) => program === 'open')).toEqual({
      program: 'open',
      arguments: ['-gj', '-a', 'Messages'],
    });
  });

  it('M3 cannot be started fails', async () => {
    await macos.messages.configure({ running: false, startMs: null });
    expect(await send()).toMatchObject({
      ...NOTHING_SENT,
      message: expect.stringContaining('-600') as string,
    });
  });

  it.each([
    ['fails', 'exit 1'],
    ['is ended by a signal', 'kill -KILL $$'],
  ])('M3 cannot be started because open %s fails, and nothing was sent', async (_, script) => {
    await macos.messages.configure({ running: false });
    await openWith({ open: await writeProgram('open', script) });
    expect(await send()).toMatchObject(NOTHING_SENT);
    expect(await sent()).toEqual([]);
  });

  it('M3 is not started because open does not end: a send that was given up sends nothing later', async () => {
    await macos.messages.configure({ running: false });
    const folder = await tempDir(cleanup);
    await openWith({
      open: await writeProgram(
        'open',
        `trap '' TERM; touch ${folder}/began; while [ -d ${folder} ] && [ ! -e ${folder}/end ]; do sleep 0.05; done`,
      ),
    });
    const since = engine.store.position();
    const sending = engine.send(HELLO, TO_ANNA);
    await until(() => existsSync(join(folder, 'began')));
    expect(await clock.skipThrough(engine.outcomeOf(HELLO, TO_ANNA, since))).toMatchObject({
      state: 'failed',
    });
    await macos.messages.configure({ running: true });
    writeFileSync(join(folder, 'end'), '');
    expect(await finish(sending)).toMatchObject({ state: 'failed' });
    expect(await sent()).toEqual([]);
    // The send was given up for good: the next one is another send.
    expect(await send()).toMatchObject(SENT);
  });

  it.each([
    ['no account', []],
    ['a disconnected account', [{ service: 'iMessage', enabled: true, connection: 'disconnected' }]],
    ['a disabled account', [{ service: 'iMessage', enabled: false, connection: 'connected' }]],
    ['an account for SMS only', [{ service: 'SMS', enabled: true, connection: 'connected' }]],
  ])('M3 has %s cannot send', async (_, accounts) => {
    await macos.messages.configure({ accounts });
    expect(await send()).toMatchObject({
      ...NOTHING_SENT,
      message: expect.stringContaining('account') as string,
    });
    expect(await sent()).toEqual([]);
  });
});

describe('M3 a row', () => {
  it.each<[string, SendBehaviour, object]>([
    ['that never appears', { row: 'none' }, UNKNOWN],
    ['that appears twice', { row: 'twice' }, SENT],
    ['in another chat', { row: 'elsewhere' }, UNKNOWN],
    ['without a chat', { row: 'ghost' }, UNKNOWN],
    ['with error 22', { error: 22 }, { ...NOTHING_SENT, notOnIMessage: true }],
    ['with error 25', { error: 25 }, NOTHING_SENT],
    ['with error 34', { error: 34 }, NOTHING_SENT],
  ])('M3 %s decides the outcome', async (_, sends, outcome) => {
    await macos.messages.configure({ sends });
    expect(await send()).toMatchObject(outcome);
    expect(await sent()).toHaveLength(1);
  });
});

describe('M3 a text', () => {
  it.each([
    ['a line\r\nand “quotes” `${process.exit()}` $(reboot)', undefined],
    ['a\ud83db', 'a\ufffdb'],
    ['x'.repeat(20_000), undefined],
    ['\ufffc', undefined],
  ])('M3 is sent as valid text and found by its row: %j', async (text, valid = text) => {
    expect(await send({ kind: 'text', text })).toMatchObject(SENT);
    expect(await sent()).toMatchObject([{ text: valid }]);
  });
});

describe('M3 a file', () => {
  const first = () => join(macos.home, 'Library/Messages/.send-staging');
  const second = () => join(macos.home, 'Library/Containers/com.apple.MobileSMS/Data/tmp/footbridge');
  const stagedIn = (folder: string) => (existsSync(folder) ? readdirSync(folder) : []);
  beforeEach(() => {
    for (const folder of [first(), second()]) rmSync(folder, { recursive: true, force: true });
  });

  it.each([
    ['a "quoted" \'name\'.txt', 'a "quoted" \'name\'.txt'],
    ['line\nbreak.txt', 'line\nbreak.txt'],
    ['../../escape.txt', 'escape.txt'],
    ['..', 'attachment'],
    ['', 'attachment'],
    ['$(reboot) `x`;.txt', '$(reboot) `x`;.txt'],
    ['--help', '--help'],
    [`${'長'.repeat(120)}.txt`, `${'長'.repeat(78)}.txt`],
  ])('M3 with the name %j is sent as %j', async (name, expected) => {
    expect(await send(await file(name))).toMatchObject(SENT);
    const [only] = await sent();
    expect(only?.file?.name).toBe(expected);
    expect(Buffer.from(only?.file?.base64 ?? '', 'base64').toString()).toBe('content');
  });

  it('M3 that Messages could not read is sent once more from the second folder, and both copies are removed', async () => {
    await macos.messages.configure({ sends: { error: 34 } });
    expect(await send(await file('a.txt'))).toMatchObject(NOTHING_SENT);
    expect((await sent()).map((message) => message.file?.path)).toEqual([
      expect.stringContaining(first()),
      expect.stringContaining(second()),
    ]);
    expect([...stagedIn(first()), ...stagedIn(second())]).toEqual([]);
  });

  it('M3 stays where Messages refers to it for a day', async () => {
    expect(await send(await file('a.txt'))).toMatchObject(SENT);
    expect(stagedIn(first())).toHaveLength(1);
    await clock.skip(25 * 3_600_000);
    expect(await send(await file('b.txt'))).toMatchObject(SENT);
    expect(stagedIn(first())).toHaveLength(1);
  });

  it.each<[string, (folder: string) => void]>([
    ['a file', (folder) => writeFileSync(folder, '')],
    ['a link', (folder) => symlinkSync(macos.home, folder)],
  ])('M3 is staged in the second folder when the first one is %s', async (_, replace) => {
    replace(first());
    expect(await send(await file('a.txt'))).toMatchObject(SENT);
    expect((await sent())[0]?.file?.path).toContain(second());
    mkdirSync(join(second(), '..'), { recursive: true });
    rmSync(second(), { recursive: true });
    replace(second());
    expect(await send(await file('b.txt'))).toMatchObject(NOTHING_SENT);
    expect(await sent()).toHaveLength(1);
  });

  // Root can write to each folder that a test creates, but not here.
  const readOnly = process.platform === 'darwin' ? '/System' : '/proc/sys';

  it.each<[string, (writable: string) => readonly [string, string], object, number]>([
    ['the first folder is', (writable) => [readOnly, writable], SENT, 1],
    ['both folders are', () => [readOnly, readOnly], NOTHING_SENT, 0],
  ])('M3 is not staged where %s read-only', async (_, folders, outcome, count) => {
    const store = new MacStore(
      { home: macos.home, messages: join(macos.home, 'Library/Messages') },
      NO_MEMORY,
    );
    cleanup.add(() => store.close());
    const deps = {
      store,
      osascript: new Osascript({ path: macos.commands.osascript, clock: systemClock }),
      lastDispatch: new LastDispatch(join(await tempDir(cleanup), 'last-send.jsonl')),
      givenUp: new AbortController().signal,
      clock: systemClock,
      startMessages: () => Promise.resolve(),
      stagingFolders: folders(second()),
      mayDelete: () => true,
    };
    const destination = { to: 'person', handle: ANNA, service: 'iMessage' } as const;
    expect(await sendByEvent(await file('a.txt'), destination, deps)).toMatchObject(outcome);
    expect(await sent()).toHaveLength(count);
  });

  it('M3 fails when the disk has no space, and leaves nothing behind', async () => {
    const message = await file('a.bin', 'x'.repeat(1_000_000));
    if (message.kind !== 'file') throw new Error('not a file');
    const { home, commands: programs } = macos;
    const argument: FileToSend = { home, programs, handle: ANNA, file: message.file };
    const main = fileURLToPath(new URL('./send-file.fixture.ts', import.meta.url));
    // A limit of the process has the effect of a full disk: a write fails in the middle of the file.
    const limited = [
      '-c',
      'ulimit -f 256 && exec "$@"',
      'sh',
      process.execPath,
      main,
      JSON.stringify(argument),
    ];
    const { stdout } = await promisify(execFile)('sh', limited);
    expect(JSON.parse(stdout)).toMatchObject({
      ...NOTHING_SENT,
      message: expect.stringContaining('cannot be copied') as string,
    });
    expect(await sent()).toEqual([]);
    expect([...stagedIn(first()), ...stagedIn(second())]).toEqual([]);
  });

  it('M3 fails when it is missing, and leaves nothing behind', async () => {
    const gone = await file('a.txt');
    if (gone.kind === 'file') rmSync(gone.file.path);
    expect(await send(gone)).toMatchObject(NOTHING_SENT);
    expect([...stagedIn(first()), ...stagedIn(second())]).toEqual([]);
  });

  it('M3 has the same bytes when it is staged', async () => {
    const message = await file('a.bin', 'x'.repeat(100_000));
    expect(await send(message)).toMatchObject(SENT);
    const path = (await sent())[0]?.file?.path ?? '';
    expect(readFileSync(path, 'utf8')).toBe('x'.repeat(100_000));
  });
});
