import type { Jxa } from './jxa.ts';

export type LiveChatsLine =
  | { readonly step: 'chats'; readonly ids: readonly string[] }
  | { readonly step: 'error'; readonly number: number };

declare const ObjC: Jxa['ObjC'];
declare const $: Jxa['$'];
declare const Application: Jxa['Application'];

/**
 * Lists the ids under which Messages offers its chats. Runs inside `osascript`: it must not refer to anything outside itself, and
 * may use only ES2021.
 */
export function liveChatsProgram(): void {
  const UTF8 = 4;
  ObjC.import('Foundation');
  const write = (line: LiveChatsLine): void => {
    const text = $.NSString.stringWithString(`${JSON.stringify(line)}\n`);
    $.NSFileHandle.fileHandleWithStandardOutput.writeData(text.dataUsingEncoding(UTF8));
  };
  try {
    write({ step: 'chats', ids: Application('Messages').chats.id() });
  } catch (error) {
    write({ step: 'error', number: (error as { errorNumber?: number }).errorNumber ?? 0 });
  }
}
