import { randomUUID } from 'node:crypto';
import { openAsBlob } from 'node:fs';
import { basename } from 'node:path';

import type { Clock } from '@footbridge/runtime/clock';

import { fromStore } from '../from-store.ts';
import type { Destination, ExpectedMessage, LocalFile, MessageStore, OutgoingMessage } from '../messages.ts';
import { awaitOutcome } from './await-outcome.ts';
import type { CallOutcome, Limits } from './await-outcome.ts';
import { resolveRecipient } from './resolve-recipient.ts';
import type { Recipient } from './resolve-recipient.ts';
import type { Reply, ServerClient } from './server-client.ts';
import { VOICE_NAME, withVoiceFile } from './voice-file.ts';
import { failed } from '../../../outcome.ts';
import type { Failed } from '../../../outcome.ts';

export interface ServerDeps {
  readonly client: ServerClient;
  readonly store: MessageStore;
  readonly clock: Clock;
  readonly limits: Limits;
  /** The path of `afconvert`. */
  readonly afconvert: string;
}

type Text = Extract<OutgoingMessage, { kind: 'text' }>;
type Content = Text | { readonly kind: 'file'; readonly file: LocalFile; readonly isVoice?: boolean };

/** The method in every call. Without it the server uses AppleScript, which can send a message twice. */
const METHOD = 'private-api';

/** Sends a text or a file with one call, and takes the outcome from the row in the store. The call is never repeated. */
export async function sendThroughServer(
  message: Exclude<OutgoingMessage, { kind: 'sticker' }>,
  destination: Destination,
  deps: ServerDeps,
): Promise<CallOutcome> {
  const recipient = fromStore(() => resolveRecipient(destination, deps.store));
  if ('state' in recipient) return { outcome: recipient, guids: [] };
  if (message.kind === 'text') return callOnce(message, destination, recipient, deps);
  if (message.kind === 'file' || recipient.service !== 'iMessage')
    return callOnce({ kind: 'file', file: message.file }, destination, recipient, deps);
  const attempted = await withVoiceFile(deps.afconvert, message.file, (file) =>
    callOnce({ kind: 'file', file, isVoice: true }, destination, recipient, deps),
  );
  return attempted ?? { outcome: NOT_CONVERTED, guids: [] };
}

const NO_FILE = failed('IMESSAGE_ERROR', 'The file cannot be read. Nothing was sent.');
const NOT_CONVERTED = failed(
  'IMESSAGE_ERROR',
  'macOS cannot convert the recording to a voice message. Send it as a file, or in another format. Nothing was sent.',
);

async function callOnce(
  content: Content,
  destination: Destination,
  recipient: Recipient,
  deps: ServerDeps,
): Promise<CallOutcome> {
  const before = fromStore(() => {
    const refused = refuse(content, recipient, deps.store);
    return refused ?? { position: deps.store.position() };
  });
  if ('state' in before) return { outcome: before, guids: [] };
  const sent: Content =
    content.kind === 'text'
      ? content
      : { ...content, file: { ...content.file, name: safeName(content.file) } };
  const blob = sent.kind === 'file' ? await openFile(sent.file.path) : undefined;
  if (sent.kind === 'file' && blob === undefined) return { outcome: NO_FILE, guids: [] };
  return awaitOutcome(
    call(sent, blob, recipient, deps),
    { message: sent, destination, since: before.position, startsChat: 'addresses' in recipient },
    deps.limits,
    deps,
  );
}

/** Resolves with undefined when the file cannot be read. */
async function openFile(path: string): Promise<Blob | undefined> {
  try {
    return await openAsBlob(path);
  } catch {
    return undefined;
  }
}

/** Returns a failure for a message that no call of the server can send. The agent never sends another form of it. */
function refuse(content: Content, recipient: Recipient, store: MessageStore): Failed | undefined {
  if (content.kind === 'file')
    return 'chatGuid' in recipient
      ? undefined
      : failed(
          'IMESSAGE_ERROR',
          `BlueBubbles cannot begin ${recipient.service === 'SMS' ? 'an SMS conversation' : 'a conversation'} with a file. Send a text first. Nothing was sent.`,
        );
  if (content.replyTo === undefined) return undefined;
  const target = store.rowByGuid(content.replyTo);
  const chat = target?.chatId === undefined ? undefined : store.chat(target.chatId);
  // For these, the helper would send the text without its thread.
  if (target === undefined || target.unsent || !('chatGuid' in recipient) || chat?.key !== recipient.chatGuid)
    return failed('TARGET_NOT_FOUND', 'The message to reply to is not in this chat. Nothing was sent.');
  return undefined;
}

function call(
  content: Content,
  blob: Blob | undefined,
  recipient: Recipient,
  { client, limits }: ServerDeps,
): Promise<Reply> {
  // The server uses it as a lock during the call. It is not an idempotency key; the journal prevents repeats.
  const tempGuid = randomUUID();
  if (content.kind === 'file') {
    if (!('chatGuid' in recipient) || blob === undefined) throw new Error('A file needs an existing chat');
    const { name, mime } = content.file;
    const file = new File([blob], name, { type: mime });
    const fields = { chatGuid: recipient.chatGuid, tempGuid, name, method: METHOD, attachment: file };
    // The server accepts only the string 'true'.
    return client.upload(
      '/message/attachment',
      content.isVoice === true ? { ...fields, isAudioMessage: 'true' } : fields,
      limits.replyMs,
    );
  }
  const { text: message, effect: effectId, replyTo } = content;
  const fields = { message, method: METHOD, tempGuid, ...(effectId !== undefined && { effectId }) };
  if ('addresses' in recipient) return client.post('/chat/new', { ...fields, ...recipient }, limits.replyMs);
  const thread = replyTo === undefined ? {} : { selectedMessageGuid: replyTo, partIndex: 0 };
  return client.post('/message/text', { ...fields, chatGuid: recipient.chatGuid, ...thread }, limits.replyMs);
}

/** Returns the forms that a message can have in its row. A voice message that is sent by SMS keeps the name of its file. */
export function storedForms(message: ExpectedMessage): [ExpectedMessage, ...ExpectedMessage[]] {
  if (message.kind === 'text') return [message];
  const renamed = { ...message, file: { ...message.file, name: safeName(message.file) } };
  return message.kind === 'voice'
    ? [{ ...message, file: { ...message.file, name: VOICE_NAME } }, renamed]
    : [renamed];
}

/** Returns a name without folders: the server writes the file under this name. */
function safeName({ name }: Pick<LocalFile, 'name'>): string {
  const base = basename(name.replaceAll('\\', '/')).replaceAll(/[\p{Cc}:]/gu, '_');
  return base === '' || base === '.' || base === '..' ? 'file' : base;
}
