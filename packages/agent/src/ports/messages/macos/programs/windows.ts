import { elementsOf, findAll, identifierOf, textOf, withIdentifier } from './elements.ts';
import './frameworks.ts';
import type { JxaAccessibility, NativeObject } from './jxa-accessibility.ts';
import { requireLabel } from './labels.ts';
import { refuse } from './refuse.ts';
import { waitFor } from './session.ts';

declare const $: JxaAccessibility['$'];

const MESSAGES = 'com.apple.MobileSMS';

export function messagesPid(): number {
  const running = $.NSRunningApplication.runningApplicationsWithBundleIdentifier(MESSAGES);
  return running.count === 0 ? refuse('not_running') : running.objectAtIndex(0).processIdentifier;
}

export function windows(): NativeObject[] {
  const application = $.AXUIElementCreateApplication(messagesPid());
  $.AXUIElementSetMessagingTimeout(application, 3);
  return elementsOf(application, 'AXWindows');
}

/** Read when it is first needed, since a refusal needs no label. */
let knownReplyLabel: string | undefined;
const replyLabel = (): string =>
  (knownReplyLabel ??= requireLabel({ table: 'Accessibility', key: 'group.reply.collection' }));

export const transcripts = (kind: 'main' | 'reply'): NativeObject[] =>
  windows()
    .flatMap((window) => withIdentifier(window, 'TranscriptCollectionView'))
    .filter((found) => (textOf(found, 'AXDescription') === replyLabel()) === (kind === 'reply'));

export const composers = (): NativeObject[] =>
  windows().flatMap((window) => withIdentifier(window, 'messageBodyField'));

export function closeReply(): void {
  const [open] = transcripts('reply');
  if (open === undefined) return;
  if (composers().some((composer) => (textOf(composer, 'AXValue') ?? '') !== '')) refuse('reply_open');
  $.AXUIElementPerformAction(open, 'AXCancel');
  if (waitFor(2, () => (transcripts('reply').length === 0 ? true : undefined)) === undefined)
    refuse('reply_open');
}

/** Refuses a state of Messages in which another element than the intended one could be pressed. */
export function requireOrder(): void {
  const open = windows();
  if (
    open.some((window) =>
      elementsOf(window, 'AXChildren').some((child) => textOf(child, 'AXRole') === 'AXSheet'),
    )
  )
    refuse('sheet');
  const conversations = open.filter(
    (window) =>
      findAll(window, (element) =>
        ['TranscriptCollectionView', 'messageBodyField'].includes(identifierOf(element) ?? ''),
      ).length > 0,
  );
  if (conversations.length > 1) refuse('several_windows');
  closeReply();
}
