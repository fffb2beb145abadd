import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { CLASSIC_TYPES } from '@footbridge/protocol/metadata';
import type { OutboundReaction } from '@footbridge/protocol/reactions';
import { LANGUAGES } from '@footbridge/testkit/macos/accessibility/labels';
import type { Language } from '@footbridge/testkit/macos/accessibility/labels';
import { MACOS_VERSIONS } from '@footbridge/simulator/chat-db';
import type { MacosVersion } from '@footbridge/simulator/chat-db';
import type { NewMessage } from '@footbridge/simulator/messages-app';
import { seeded } from '@footbridge/testkit/seeded';

import type { JobDeps } from '@footbridge/agent/flows/outbound/job-deps';
import { sendReaction } from '@footbridge/agent/flows/outbound/send-reaction';
import { tapbackCode } from '@footbridge/protocol/tapbacks';
import { ScreenInProcess } from '@footbridge/agent/ports/messages/macos/accessibility/screen-in-process.fixture';
import type { JobOutcome } from '@footbridge/agent/outcome';

const ACTIONS = ['add', 'remove', 'replace'] as const;
const PARTS = [0, 1] as const;
const TARGETS = ['own', 'received', 'twice', 'link', 'photo', 'thread', 'unsent'] as const;
const TAPBACKS = [
  ...CLASSIC_TYPES.map((type) => ({ kind: 'classic', type }) as const),
  // One that was used recently, and one that is far down in the list of all emoji.
  { kind: 'emoji', emoji: '🔥' } as const,
  { kind: 'emoji', emoji: '🌈' } as const,
];
type Tapback = (typeof TAPBACKS)[number];

export interface MatrixCase {
  readonly macos: MacosVersion;
  readonly language: Language;
  readonly target: (typeof TARGETS)[number];
  readonly part: (typeof PARTS)[number];
  readonly action: (typeof ACTIONS)[number];
  readonly tapback: Tapback;
}

export interface MatrixResult {
  readonly cases: number;
  readonly presses: number;
  /** Reactions on another message or part than the target. */
  readonly strays: number;
  /** Presses although the requested state was there. */
  readonly needless: number;
  /** Cases with more than one press. */
  readonly doubled: number;
  /** Cases that did not end as expected, the first ones described. */
  readonly wrong: number;
  readonly examples: readonly string[];
  /** The simulated durations of the presses in milliseconds, sorted. */
  readonly durations: readonly number[];
}

/** Every case of one version and language. */
export function casesOf(macos: MacosVersion, language: Language): MatrixCase[] {
  return TARGETS.flatMap((target) =>
    PARTS.flatMap((part) =>
      ACTIONS.flatMap((action) =>
        TAPBACKS.map((tapback) => ({ macos, language, target, part, action, tapback })),
      ),
    ),
  );
}

/** Returns each version with each language. */
export function allMacs(): { macos: MacosVersion; language: Language }[] {
  return MACOS_VERSIONS.flatMap((macos) => LANGUAGES.map((language) => ({ macos, language })));
}

/** Runs cases of one version and language on one Mac, each in a conversation of its own, and counts what went wrong. */
export async function runCases(cases: readonly MatrixCase[], seed: number): Promise<MatrixResult> {
  const [first] = cases;
  if (first === undefined) throw new Error('There are no cases.');
  const mac = new ScreenInProcess(mkdtempSync(join(tmpdir(), 'footbridge-')), first.macos);
  const random = seeded(seed);
  const total = { presses: 0, strays: 0, needless: 0, doubled: 0, wrong: 0 };
  const examples: string[] = [];
  const durations: number[] = [];
  try {
    for (const [index, one] of cases.entries()) {
      // The link can be slow, so that an earlier selection is still there when the program looks.
      const navigationMs = Math.floor(random() * 800);
      mac.screen.configure({
        language: one.language,
        navigationMs,
        selects: random() < 0.2 ? 'all_parts' : 'target',
      });
      mac.screen.clear();
      const run = await runCase(mac, one, `+1555${String(index).padStart(7, '0')}`);
      total.presses += run.presses;
      total.strays += run.strays;
      total.needless += run.needless;
      total.doubled += run.presses > 1 ? 1 : 0;
      if (run.problem !== undefined) total.wrong += 1;
      if (run.problem !== undefined && examples.length < 5)
        examples.push(`${JSON.stringify(one)}: ${run.problem}`);
      if (run.presses === 1) durations.push(run.durationMs);
    }
  } finally {
    mac.close();
  }
  return { ...total, cases: cases.length, examples, durations: durations.sort((a, b) => a - b) };
}

export function sum(results: readonly MatrixResult[]): MatrixResult {
  const add = (read: (result: MatrixResult) => number): number =>
    results.reduce((total, result) => total + read(result), 0);
  return {
    cases: add(({ cases }) => cases),
    presses: add(({ presses }) => presses),
    strays: add(({ strays }) => strays),
    needless: add(({ needless }) => needless),
    doubled: add(({ doubled }) => doubled),
    wrong: add(({ wrong }) => wrong),
    examples: results.flatMap(({ examples }) => examples),
    durations: results.flatMap(({ durations }) => durations).sort((a, b) => a - b),
  };
}

interface CaseRun {
  readonly presses: number;
  readonly strays: number;
  readonly needless: number;
  readonly durationMs: number;
  readonly problem: string | undefined;
}

async function runCase(mac: ScreenInProcess, one: MatrixCase, person: string): Promise<CaseRun> {
  const guid = await writeConversation(mac, one, person);
  const chat = { members: [person], service: 'iMessage' };
  const expected = expectedCode(one);
  const before =
    one.action === 'remove' ? one.tapback : one.action === 'replace' ? otherThan(one.tapback) : undefined;
  // Before macOS 15 there is no emoji reaction that could be removed.
  const hadReaction = before !== undefined && (before.kind === 'classic' || one.macos >= 15);
  if (hadReaction && one.target !== 'unsent') {
    const emoji = before.kind === 'emoji' ? { emoji: before.emoji } : {};
    mac.app.react({
      from: 'me',
      target: guid,
      part: one.part,
      chat,
      code: tapbackCode(before, 'add'),
      ...emoji,
    });
    await mac.app.settled();
  }
  const rowsBefore = mac.store.newestRowid();
  const action = one.action === 'remove' ? 'remove' : 'add';
  const reaction: OutboundReaction = { targetGuid: `p:${one.part}/${guid}`, action, ...one.tapback };
  const started = mac.clock.now();
  const outcome = await request(mac, reaction, person);
  const durationMs = mac.clock.now() - started;
  await mac.app.settled();
  const { length: presses } = mac.screen.actions().presses;
  // The same request again: the state is there.
  const repeated = expected === undefined ? await request(mac, reaction, person) : outcome;
  const more = mac.screen.actions().presses.length - presses;
  // After a failure the state is not there, and a press is needed.
  const needless = outcome.state === 'delivered' ? more : 0;
  const target = `p:${one.part}/${guid}`;
  const strays = mac.store
    .rowsAfter(rowsBefore, 100)
    .filter((row) => row.fromMe && row.tapback !== undefined && row.tapback.targetRaw !== target).length;
  const problem = problemOf(one, { outcome, repeated, presses, expected, guid }, mac);
  return { presses, strays, needless, durationMs, problem };
}

function problemOf(
  one: MatrixCase,
  run: {
    outcome: JobOutcome;
    repeated: JobOutcome;
    presses: number;
    expected: string | undefined;
    guid: string;
  },
  mac: ScreenInProcess,
): string | undefined {
  const code = run.outcome.state === 'delivered' ? undefined : run.outcome.code;
  if (code !== run.expected) return `${code ?? 'delivered'}: ${JSON.stringify(run.outcome)}`;
  if (run.repeated.state !== run.outcome.state) return `repeated: ${run.repeated.state}`;
  if (run.expected !== undefined) return run.presses === 0 ? undefined : `${run.presses} presses`;
  const isThere = one.action !== 'remove';
  const hadNothing = one.action === 'remove' && one.tapback.kind === 'emoji' && one.macos < 15;
  if (run.presses !== (hadNothing ? 0 : 1)) return `${run.presses} presses`;
  const own = mac.store.ownReaction(run.guid, one.part);
  return JSON.stringify(own) === JSON.stringify(isThere ? one.tapback : undefined)
    ? undefined
    : `state ${JSON.stringify(own)}`;
}

/** Writes the target with other messages around it, and returns its guid. */
async function writeConversation(mac: ScreenInProcess, one: MatrixCase, person: string): Promise<string> {
  const chat = { members: [person], service: 'iMessage' };
  const write = (message: Omit<NewMessage, 'chat'>): string => mac.app.write({ ...message, chat }).guid;
  const root = write({ from: person, text: 'Shall we meet?' });
  const text = 'See you at nine';
  const twin = one.target === 'twice' ? [write(contentOf(one, person, text))] : [];
  const guid = write({
    ...contentOf(one, person, text),
    ...(one.target === 'thread' && { columns: { thread_originator_guid: root } }),
  });
  if (twin.length > 0) write(contentOf(one, person, text));
  write({ from: 'me', text: 'Fine' });
  await mac.app.settled();
  if (one.target === 'unsent')
    mac.app.change({ guid, columns: { part_count: 0, attributedBody: null, text: null } });
  return guid;
}

const PHOTO = { name: 'photo.jpg', mime: 'image/jpeg', base64: '/9j/4AAQ' };

function contentOf({ target, part }: MatrixCase, person: string, text: string): NewMessage {
  const from = target === 'own' ? 'me' : person;
  const photos = Array.from({ length: part }, () => PHOTO);
  if (target === 'photo') return { from, attachments: [PHOTO, ...photos] };
  if (target === 'unsent') return { from, text };
  const isLink = target === 'link';
  return {
    from,
    text: isLink ? 'https://example.com/a' : text,
    ...(photos.length > 0 && { attachments: photos }),
    ...(isLink && { linkPreview: true }),
  };
}

/** The code with which a case ends before the screen is touched. */
function expectedCode({ target, tapback, macos, action }: MatrixCase): string | undefined {
  if (target === 'unsent') return 'TARGET_NOT_FOUND';
  // M5. What was never there is already removed.
  const isAbsent = action === 'remove' && macos < 15;
  return tapback.kind === 'emoji' && macos < 26 && !isAbsent ? 'EMOJI_NOT_IN_RECENTS' : undefined;
}

function otherThan(tapback: Tapback): Tapback {
  const isLike = tapback.kind === 'classic' && tapback.type === 'like';
  return { kind: 'classic', type: isLike ? 'laugh' : 'like' };
}

function request(mac: ScreenInProcess, reaction: OutboundReaction, person: string): Promise<JobOutcome> {
  const chatId = mac.store.directChat(person, 'iMessage')?.id;
  const address = {
    phone: person,
    channel: 'imessage',
    chatId,
    isGroup: undefined,
    recipients: undefined,
    sender: undefined,
  } as const;
  const macos = `${mac.app.store.macos}.1`;
  const messages = {
    store: mac.store,
    environment: () => ({ macos, automation: true, accessibility: true }),
    react: mac.react.bind(mac),
  } as unknown as JobDeps['messages'];
  const deps: Pick<JobDeps, 'messages' | 'steps' | 'clock' | 'settings'> = {
    messages,
    steps: {
      haveBegun: () => false,
      isDone: () => false,
      earlierResult: () => Promise.resolve(undefined),
      once: (_, send) => send(),
    },
    clock: mac.clock,
    settings: { confirmMs: 2_000, channel: 'auto' },
  };
  return sendReaction({ kind: 'reaction', address, reaction }, deps as JobDeps);
}
