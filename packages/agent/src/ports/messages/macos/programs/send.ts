import type { Jxa, MessagesApplication } from './jxa.ts';
import { readInput, write } from './streams.ts';

export interface SendInput {
  readonly service: string;
  readonly target:
    | { readonly person: string }
    /** Ids under which Messages may know the group, best first, and its members. */
    | { readonly group: readonly string[]; readonly members: readonly string[] };
  readonly content: { readonly text: string } | { readonly file: string };
}

export type SendLine =
  /** Written directly before the Apple event. Without this line nothing was sent. */
  | { readonly step: 'dispatching' }
  | { readonly step: 'dispatched' }
  /** The recipient was not found. Nothing was sent. */
  | { readonly step: 'unresolved'; readonly reason: 'no_account' | 'no_chat' | 'other_members' }
  /** An Apple event failed. Its text is not reported: it may contain the message. */
  | { readonly step: 'error'; readonly number: number };

declare const Application: Jxa['Application'];
declare const Path: Jxa['Path'];

type Unresolved = Extract<SendLine, { step: 'unresolved' }>['reason'];

const sameMembers = (found: readonly string[], wanted: readonly string[]): boolean =>
  [...found].sort().join('\n') === [...wanted].sort().join('\n');

/** Returns the recipient as an object of Messages, or the reason why there is none. */
function findRecipient(messages: MessagesApplication, { service, target }: SendInput): object | Unresolved {
  if ('person' in target) {
    const account = messages
      .accounts()
      .find(
        (candidate) =>
          candidate.serviceType() === service &&
          candidate.enabled() &&
          candidate.connectionStatus() === 'connected',
      );
    return account === undefined ? 'no_account' : account.participants.byName(target.person);
  }
  const live = messages.chats.id();
  const id = target.group.find((candidate) => live.includes(candidate));
  if (id === undefined) return 'no_chat';
  const chat = messages.chats.byId(id);
  return sameMembers(chat.participants.handle(), target.members) ? chat : 'other_members';
}

/** Sends one message with one Apple event. */
function send(input: SendInput): void {
  const messages = Application('Messages');
  const to = findRecipient(messages, input);
  if (typeof to === 'string') return write({ step: 'unresolved', reason: to } satisfies SendLine);
  const content = 'text' in input.content ? input.content.text : Path(input.content.file);
  write({ step: 'dispatching' } satisfies SendLine);
  messages.send(content, { to });
  write({ step: 'dispatched' } satisfies SendLine);
}

const input = readInput() as SendInput;
try {
  send(input);
} catch (error) {
  write({ step: 'error', number: (error as { errorNumber?: number }).errorNumber ?? 0 } satisfies SendLine);
}
