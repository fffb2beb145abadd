import type { Jxa } from './jxa.ts';

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

declare const ObjC: Jxa['ObjC'];
declare const $: Jxa['$'];
declare const Application: Jxa['Application'];
declare const Path: Jxa['Path'];

/**
 * Sends one message with one Apple event. Runs inside `osascript`: it must not refer to anything outside of itself, and may use
 * ES2021 only. Input and output are JSON on stdin and stdout, so that no text is in a process argument.
 */
export function sendProgram(): void {
  const UTF8 = 4;
  ObjC.import('Foundation');
  const write = (line: SendLine): void => {
    const text = $.NSString.stringWithString(`${JSON.stringify(line)}\n`);
    $.NSFileHandle.fileHandleWithStandardOutput.writeData(text.dataUsingEncoding(UTF8));
  };
  const data = $.NSFileHandle.fileHandleWithStandardInput.readDataToEndOfFile;
  const input = JSON.parse(
    String(ObjC.unwrap($.NSString.alloc.initWithDataEncoding(data, UTF8))),
  ) as SendInput;
  const sameMembers = (found: readonly string[], wanted: readonly string[]): boolean =>
    [...found].sort().join('\n') === [...wanted].sort().join('\n');
  const numberOf = (error: unknown): number => (error as { errorNumber?: number }).errorNumber ?? 0;

  try {
    const messages = Application('Messages');
    let to: object | undefined;
    if ('person' in input.target) {
      const account = messages
        .accounts()
        .find(
          (candidate) =>
            candidate.serviceType() === input.service &&
            candidate.enabled() &&
            candidate.connectionStatus() === 'connected',
        );
      if (account === undefined) return write({ step: 'unresolved', reason: 'no_account' });
      to = account.participants.byName(input.target.person);
    } else {
      const live = messages.chats.id();
      const id = input.target.group.find((candidate) => live.includes(candidate));
      if (id === undefined) return write({ step: 'unresolved', reason: 'no_chat' });
      const chat = messages.chats.byId(id);
      if (!sameMembers(chat.participants.handle(), input.target.members))
        return write({ step: 'unresolved', reason: 'other_members' });
      to = chat;
    }
    const content = 'text' in input.content ? input.content.text : Path(input.content.file);
    write({ step: 'dispatching' });
    messages.send(content, { to });
    write({ step: 'dispatched' });
  } catch (error) {
    write({ step: 'error', number: numberOf(error) });
  }
}
