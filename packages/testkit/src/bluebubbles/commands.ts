import { CallError, invalid, refused } from './responses.ts';
import type { Command, Recipients } from './messages-helper.ts';
import type { Route } from './settings.ts';
import type { StoreReader } from './store-reader.ts';

/** The fields of a call. A file is `{ name, base64 }`. */
export type Fields = Readonly<Record<string, unknown>>;

const REACTIONS = ['love', 'like', 'dislike', 'laugh', 'emphasize', 'question'];
/** The helper writes them in English on every Mac. */
const REACTION_VERBS = ['Loved', 'Liked', 'Disliked', 'Laughed at', 'Emphasized', 'Questioned'];
const REMOVED = 1000;

/** Fields that only the Private API knows. They select it when `method` is absent. */
const PRIVATE_FIELDS = ['effectId', 'subject', 'selectedMessageGuid', 'ddScan', 'attributedBody'];

export function usesPrivateApi(route: Route, fields: Fields): boolean {
  if (route === 'react') return true;
  return fields['method'] === 'private-api' || PRIVATE_FIELDS.some((name) => fields[name] !== undefined);
}

/** Checks the fields as the server does. Whether a chat exists is left to the helper. */
export function validate(route: Route, fields: Fields): void {
  const required = { text: ['chatGuid', 'message'], attachment: ['chatGuid', 'name', 'attachment'] };
  const names =
    route === 'react'
      ? ['chatGuid', 'selectedMessageGuid', 'reaction']
      : route === 'new_chat'
        ? ['addresses', 'message']
        : required[route === 'text' ? 'text' : 'attachment'];
  for (const name of names) {
    const value = fields[name];
    if (value === undefined || value === '') throw new CallError(invalid(`The ${name} field is required.`));
  }
  const method = fields['method'];
  if (method !== undefined && method !== 'private-api' && method !== 'apple-script')
    throw new CallError(invalid('The selected method is invalid.'));
  const reaction = fields['reaction'];
  if (route === 'react' && !REACTIONS.includes(String(reaction).replace(/^-/, '')))
    throw new CallError(invalid('The selected reaction is invalid.'));
}

/** Returns a field that is a string. */
export function textOf(fields: Fields, name: string): string | undefined {
  const value = fields[name];
  return typeof value === 'string' ? value : undefined;
}

/** Returns the command for the helper, or throws what the helper or the server responds instead. */
export function commandOf(route: Route, fields: Fields, store: StoreReader): Command {
  if (route === 'new_chat') {
    const addresses = fields['addresses'];
    const members = Array.isArray(addresses) ? addresses.map(String) : [String(addresses)];
    const effectId = textOf(fields, 'effectId');
    return {
      to: { members, service: textOf(fields, 'service') ?? 'iMessage' },
      text: String(fields['message']),
      ...(effectId !== undefined && { effectId }),
    };
  }
  if (route === 'react') return reactionOf(fields, store);
  const to = recipients(route, fields, store);
  const effectId = textOf(fields, 'effectId');
  const replyTo = textOf(fields, 'selectedMessageGuid');
  const file = fields['attachment'] as Command['file'];
  return {
    to,
    ...(effectId !== undefined && { effectId }),
    ...(replyTo !== undefined && { replyTo }),
    ...(route === 'text'
      ? { text: String(fields['message']) }
      : {
          ...(file !== undefined && { file: { ...file, name: String(fields['name']) } }),
          // Only this string counts, not the boolean.
          isVoice: fields['isAudioMessage'] === 'true',
        }),
  };
}

function reactionOf(fields: Fields, store: StoreReader): Command {
  const target = store.message(String(fields['selectedMessageGuid']));
  if (target === undefined) throw new CallError(invalid('Selected message does not exist!'));
  const reaction = String(fields['reaction']);
  const index = REACTIONS.indexOf(reaction.replace(/^-/, ''));
  return {
    to: recipients('react', fields, store),
    text: `${REACTION_VERBS[index]} “${target.text ?? ''}”`,
    tapback: {
      code: 2000 + index + (reaction.startsWith('-') ? REMOVED : 0),
      target: target.guid,
      part: Number(fields['partIndex'] ?? 0),
    },
  };
}

function recipients(route: Route, fields: Fields, store: StoreReader): Recipients {
  const chat = store.chat(String(fields['chatGuid']));
  if (chat === undefined) throw new CallError(refused(route, 'Chat does not exist!'));
  return { members: chat.members, service: chat.service };
}
