import type { Clock } from '@footbridge/runtime/clock';

import { EFFECTS } from '@footbridge/protocol/effects';
import type { Effect } from '@footbridge/protocol/effects';
import { FILE_FOLDERS } from '../../ports/messages/messages.ts';
import type {
  LocalFile,
  Messages,
  OutgoingMessage,
  OwnReaction,
  Permission,
  ServiceName,
  TapbackPress,
} from '../../ports/messages/messages.ts';
import type { Attribution, LiveChats, RowShape, WindowShape } from '../../ports/messages/messages-shape.ts';
import { measureSend } from './send-times.ts';
import type { SendTimes } from './send-times.ts';
import type { Outcome } from '../../outcome.ts';

export interface CheckResult {
  readonly verdict: 'verified' | 'failed' | 'skipped';
  readonly code?: string;
  readonly reason?: string;
  /** For the record. Contains no text, name, number or id. */
  readonly found?: Findings;
}

/** What the checks saw of Messages on this Mac. */
export interface Findings {
  /** The columns of the message store by table. */
  readonly tables?: Readonly<Record<string, readonly string[]>>;
  /** The services that Messages is signed in to. */
  readonly services?: readonly ServiceName[];
  /** The program whose permissions macOS checks when the agent uses one. */
  readonly attribution?: Attribution;
  readonly liveChats?: LiveChats;
  /** The row of a text that was sent. */
  readonly row?: RowShape;
  readonly windows?: WindowShape;
  /** The result of sending files, by folder: `sent`, an error of Messages or a code. */
  readonly folders?: Readonly<Record<string, string>>;
  /** How long the row of a text took. */
  readonly times?: SendTimes;
}

/** Files to send. */
export interface TestFiles {
  readonly image: LocalFile;
  readonly audio: LocalFile;
}

export interface CheckContext {
  readonly messages: Messages;
  readonly files: TestFiles;
  readonly clock: Clock;
  readonly to: string | undefined;
  /** Members of a group, all of them the owner. */
  readonly group: readonly string[] | undefined;
  /** Whether the owner locks the screen when asked. */
  readonly lock: boolean;
  /** Absent where there is no screen. */
  readonly isScreenLocked: (() => Promise<boolean>) | undefined;
  /** Tells the owner what to do. */
  readonly onNote: (note: string) => void;
  /** The text that an earlier check sent, for reactions and replies to it. */
  sent: { readonly guid: string; readonly chatId: number } | undefined;
}

interface Check {
  readonly name: string;
  /** The capability without which the check is skipped. */
  readonly capability?: string;
  readonly run: (context: CheckContext) => Promise<CheckResult>;
}

/** The text of every test message. */
export const TEST_TEXT = 'Footbridge test message';
const MAX_ROWS = 1000;
const REACTION_WAIT_MS = 5_000;
const POLL_MS = 100;
const LOCK_WAIT_MS = 60_000;

const VERIFIED: CheckResult = { verdict: 'verified' };

/** One check per capability, in the order in which they run: later ones need the text of an earlier one. */
export const CHECKS: readonly Check[] = [
  { name: 'message store', run: checkStore },
  { name: 'message bodies', run: checkBodies },
  { name: 'automation', run: (context) => checkPermission('automation', context) },
  { name: 'attribution', run: checkAttribution },
  { name: 'live chats', run: checkLiveChats },
  { name: 'accessibility', run: (context) => checkPermission('accessibility', context) },
  { name: 'text', capability: 'text', run: checkText },
  { name: 'windows', capability: 'reactions', run: checkWindows },
  { name: 'groups', capability: 'groups', run: checkGroup },
  { name: 'attachments', capability: 'attachments', run: checkFiles },
  { name: 'file folders', capability: 'attachments', run: checkFolders },
  { name: 'voice', capability: 'voice', run: checkVoice },
  { name: 'replies', capability: 'replies', run: checkReply },
  { name: 'animations', capability: 'animations', run: checkEffects },
  { name: 'reactions', capability: 'reactions', run: checkReactions },
  { name: 'emoji-reactions', capability: 'emoji-reactions', run: checkEmojiReaction },
  // The last check: the owner unlocks the screen when it is over.
  { name: 'locked screen', run: checkLockedScreen },
];

function checkStore({ messages }: CheckContext): Promise<CheckResult> {
  const state = messages.store.state();
  const readable = state === 'readable' || state === 'replaced';
  if (!readable)
    return Promise.resolve({ verdict: 'failed', code: state, reason: `the message store is ${state}` });
  const tables = messages.shape?.tables();
  return Promise.resolve({ ...VERIFIED, found: { ...(tables !== undefined && { tables }) } });
}

/** Counts how many of the newest messages can be read, without looking at their content. */
function checkBodies({ messages: { store } }: CheckContext): Promise<CheckResult> {
  const rows = store.rowsAfter(Math.max(0, store.newestRowid() - MAX_ROWS), MAX_ROWS);
  const unreadable = rows.filter(({ bodyState }) => bodyState === 'unreadable').length;
  const reason = `${rows.length - unreadable} of ${rows.length} readable`;
  return Promise.resolve({ verdict: unreadable === 0 ? 'verified' : 'failed', reason });
}

async function checkPermission(permission: Permission, { messages }: CheckContext): Promise<CheckResult> {
  if (messages.requestPermission === undefined)
    return { verdict: 'skipped', reason: 'this engine does not need it' };
  const state = await messages.requestPermission(permission);
  return state === 'granted' ? VERIFIED : { verdict: 'failed', reason: state };
}

async function checkText(context: CheckContext): Promise<CheckResult> {
  const { to, messages, clock } = context;
  if (to === undefined) return NO_RECIPIENT;
  const text = { kind: 'text', text: TEST_TEXT } as const;
  const sendText = () => messages.send(text, { to: 'person', handle: to, service: 'iMessage' });
  const { result, times } = await measureSend(sendText, { store: messages.store, clock });
  if (result.state !== 'delivered') return notVerified(result);
  const chatId = messages.store.rowByGuid(result.guid)?.chatId;
  if (chatId !== undefined) context.sent = { guid: result.guid, chatId };
  const row = messages.shape?.row(result.guid);
  return { ...VERIFIED, found: { times, ...(row !== undefined && { row }) } };
}

/** Whether macOS ties the permissions of the agent to its app. Only then do they survive an update of the agent. */
async function checkAttribution({ messages }: CheckContext): Promise<CheckResult> {
  if (messages.shape === undefined) return NO_SHAPE;
  const attribution = await messages.shape.attribution();
  if (attribution === undefined)
    return {
      verdict: 'skipped',
      reason: 'the log of macOS does not show it; only administrators can read it',
    };
  const { program, isApp } = attribution;
  const found = { attribution };
  return isApp
    ? { ...VERIFIED, reason: `macOS checks the permissions of the app (${program})`, found }
    : {
        verdict: 'failed',
        reason: `macOS checks the permissions of ${program} instead of Footbridge Agent`,
        found,
      };
}

async function checkLiveChats({ messages }: CheckContext): Promise<CheckResult> {
  const liveChats = await messages.shape?.liveChats();
  if (liveChats === undefined) return NO_SHAPE;
  if ('state' in liveChats) return notVerified(liveChats);
  const { services } = messages.environment().report?.messages ?? {};
  const reason = `${liveChats.sameId} % of the chats in the store`;
  return { ...VERIFIED, reason, found: { liveChats, ...(services !== undefined && { services }) } };
}

/** Whether Messages shows the sent text. Records the elements of its windows. */
async function checkWindows({ messages, sent }: CheckContext): Promise<CheckResult> {
  if (messages.shape === undefined) return NO_SHAPE;
  if (sent === undefined) return NO_TEXT;
  const windows = await messages.shape.windows(sent.guid);
  if ('state' in windows) return notVerified(windows);
  return { ...VERIFIED, reason: `${windows.elements.length} elements`, found: { windows } };
}

async function checkGroup({ messages, group }: CheckContext): Promise<CheckResult> {
  if (group === undefined)
    return { verdict: 'skipped', reason: 'no group; pass --group with two of your own addresses' };
  const destination = { to: 'group', recipients: group, service: 'iMessage' } as const;
  return verdictOf(await messages.send({ kind: 'text', text: TEST_TEXT }, destination));
}

/** A plain text does not need the screen, so it must be sent while the screen is locked. */
async function checkLockedScreen(context: CheckContext): Promise<CheckResult> {
  const { to, lock, isScreenLocked, onNote, clock } = context;
  if (to === undefined) return NO_RECIPIENT;
  if (isScreenLocked === undefined) return { verdict: 'skipped', reason: 'this engine has no screen' };
  if (!lock) return { verdict: 'skipped', reason: 'pass --lock, and lock the screen when asked' };
  onNote('Lock the screen now with Control-Command-Q, and unlock it after half a minute.');
  for (const end = clock.monotonic() + LOCK_WAIT_MS; clock.monotonic() < end; await clock.sleep(POLL_MS))
    if (await isScreenLocked()) return verdictOf(await send({ kind: 'text', text: TEST_TEXT }, context));
  return { verdict: 'skipped', reason: 'the screen was not locked within a minute' };
}

/** Sends an image, and a recording as a plain file. */
async function checkFiles(context: CheckContext): Promise<CheckResult> {
  for (const file of [context.files.image, context.files.audio]) {
    const result = verdictOf(await send({ kind: 'file', file }, context));
    if (result.verdict !== 'verified') return { ...result, reason: `${file.mime}: ${result.reason ?? ''}` };
  }
  return VERIFIED;
}

/** Tests from which folders Messages reads files. Both folders that the agent uses must work; the third is only recorded. */
async function checkFolders({ messages, files, to }: CheckContext): Promise<CheckResult> {
  if (messages.shape === undefined) return NO_SHAPE;
  if (to === undefined) return NO_RECIPIENT;
  const folders: Record<string, string> = {};
  for (const folder of FILE_FOLDERS) {
    for (const file of [files.image, files.audio]) {
      const destination = { to: 'person', handle: to, service: 'iMessage' } as const;
      const result = await messages.send({ kind: 'file', file }, destination, { folder });
      folders[folder] =
        result.state === 'delivered' ? 'sent' : (/^error \d+/.exec(result.message)?.[0] ?? result.code);
      if (folders[folder] !== 'sent') break;
    }
  }
  const { messages: first, container: second } = folders;
  const reason = FILE_FOLDERS.map((folder) => `${folder}: ${folders[folder]}`).join(', ');
  const verdict = first === 'sent' && second === 'sent' ? 'verified' : 'failed';
  return { verdict, reason, found: { folders } };
}

async function checkVoice(context: CheckContext): Promise<CheckResult> {
  return verdictOf(await send({ kind: 'voice', file: context.files.audio }, context));
}

async function checkReply(context: CheckContext): Promise<CheckResult> {
  if (context.sent === undefined) return NO_TEXT;
  return verdictOf(await send({ kind: 'text', text: TEST_TEXT, replyTo: context.sent.guid }, context));
}

/** Selects one effect of the bubble and one of the screen. */
const isTested = ({ name }: Effect): boolean => name === 'slam' || name === 'confetti';

async function checkEffects(context: CheckContext): Promise<CheckResult> {
  for (const { name, id } of EFFECTS.filter(isTested)) {
    const result = verdictOf(await send({ kind: 'text', text: TEST_TEXT, effect: id }, context));
    if (result.verdict !== 'verified') return { ...result, reason: `${name}: ${result.reason ?? ''}` };
  }
  return VERIFIED;
}

/** Adds a Tapback, replaces it and removes it. */
async function checkReactions(context: CheckContext): Promise<CheckResult> {
  for (const [type, expected] of [
    ['love', 'love'],
    ['like', 'like'],
    ['like', undefined],
  ] as const) {
    const shows = (own: OwnReaction | undefined) =>
      (own?.kind === 'classic' ? own.type : undefined) === expected;
    const result = await press({ kind: 'classic', type }, shows, context);
    if (result.verdict !== 'verified') return result;
  }
  return VERIFIED;
}

/** Adds an emoji and removes it. The second press finds it among the recent ones. */
async function checkEmojiReaction(context: CheckContext): Promise<CheckResult> {
  const tapback = { kind: 'emoji', emoji: '🎉' } as const;
  const added = await press(tapback, (own) => own?.kind === 'emoji', context);
  return added.verdict === 'verified' ? press(tapback, (own) => own === undefined, context) : added;
}

async function press(
  tapback: TapbackPress['tapback'],
  shows: (own: OwnReaction | undefined) => boolean,
  { messages, clock, sent }: CheckContext,
): Promise<CheckResult> {
  if (sent === undefined) return NO_TEXT;
  const { chatId, guid } = sent;
  const result = await messages.react({ chatId, targetGuid: guid, tapback });
  if (result.state === 'failed') return notVerified(result);
  for (let waited = 0; waited <= REACTION_WAIT_MS; waited += POLL_MS) {
    if (shows(messages.store.ownReaction(guid))) return VERIFIED;
    await clock.sleep(POLL_MS);
  }
  return { verdict: 'failed', code: 'TIMEOUT', reason: 'the press had no effect in the message store' };
}

async function send(message: OutgoingMessage, { messages, to }: CheckContext): Promise<Outcome | undefined> {
  return to === undefined
    ? undefined
    : await messages.send(message, { to: 'person', handle: to, service: 'iMessage' });
}

const NO_RECIPIENT: CheckResult = {
  verdict: 'skipped',
  reason: 'no recipient; pass --to with your own number',
};
const NO_SHAPE: CheckResult = { verdict: 'skipped', reason: 'this engine does not look at Messages itself' };
const NO_TEXT: CheckResult = { verdict: 'skipped', reason: 'no text was sent' };

export function verdictOf(result: Outcome | undefined): CheckResult {
  if (result === undefined) return NO_RECIPIENT;
  return result.state === 'delivered' ? VERIFIED : notVerified(result);
}

/** The reason is a text of ours, so it contains no content of a message. */
function notVerified({ code, message }: { readonly code: string; readonly message: string }): CheckResult {
  return { verdict: 'failed', code, reason: message };
}
