import { actionsOf, elementsOf, findAll, identifierOf, isTrue, textOf, withIdentifier } from './elements.ts';
import './frameworks.ts';
import type { JxaAccessibility, NativeObject } from './jxa-accessibility.ts';
import { refuse } from './refuse.ts';
import type { RefusalReason, ScreenLimits, ShownMessage } from './screen-lines.ts';
import { waitFor } from './session.ts';
import { transcripts } from './windows.ts';

declare const $: JxaAccessibility['$'];

export function isSelected(row: NativeObject): boolean {
  const [cell] = elementsOf(row, 'AXChildren');
  return isTrue(row, 'AXSelected') || (cell !== undefined && isTrue(cell, 'AXSelected'));
}

const fold = (text: string): string =>
  text
    .replace(/[\uFFFC\uFFFD]/g, '')
    .replace(/\r\n/g, '\n')
    .trim();

function isShown(part: ShownMessage['parts'][number], row: NativeObject | undefined): boolean {
  if (row === undefined) return false;
  const [textArea] = withIdentifier(row, 'CKBalloonTextView');
  const shown = textArea === undefined ? undefined : fold(textOf(textArea, 'AXValue') ?? '');
  // A link is a text until its preview is there.
  if (part.isLink === true) return shown === undefined || shown === fold(part.text ?? '');
  return part.text === undefined ? shown === undefined : shown === fold(part.text);
}

/** Returns the row of a part of the message, if the selection is exactly this message, or why not. */
export function locate({ parts }: ShownMessage, part: number): { row?: NativeObject; reason: RefusalReason } {
  const [transcript, second] = transcripts('main');
  if (transcript === undefined || second !== undefined) return { reason: 'not_shown' };
  const rows = elementsOf(transcript, 'AXChildren');
  const selected = rows.flatMap((row, index) => (isSelected(row) ? [index] : []));
  const [first] = selected;
  if (first === undefined) return { reason: 'not_selected' };
  const isRun = selected.every((index, place) => index === first + place);
  if (selected.length > 1 && !(isRun && selected.length === parts.length))
    return { reason: 'several_selected' };
  // Either every part is selected, or one of them.
  const shifts = selected.length > 1 ? [0] : parts.map((_, index) => index);
  const starts = shifts
    .map((shift) => first - shift)
    .filter((start) => start >= 0 && parts.every((shown, index) => isShown(shown, rows[start + index])));
  const [start] = starts;
  const row = start === undefined || starts.length > 1 ? undefined : rows[start + part];
  return row === undefined ? { reason: 'differs' } : { row, reason: 'differs' };
}

/** Whether the transcript has the message, selected or not. */
export const isVisible = ({ parts }: ShownMessage): boolean =>
  transcripts('main').some((transcript) => {
    const rows = elementsOf(transcript, 'AXChildren');
    return rows.some((_, start) => parts.every((shown, index) => isShown(shown, rows[start + index])));
  });

export function openLink(query: string): void {
  if (!$.NSWorkspace.sharedWorkspace.openURL($.NSURL.URLWithString(`imessage:open?${query}`)))
    refuse('link_rejected');
}

/**
 * Shows a message and returns the row of one of its parts. An earlier selection that looks like the message is moved away
 * first: it would be taken for the message until Messages has followed the link.
 */
export function showMessage(message: ShownMessage, part: number, { showSec }: ScreenLimits): NativeObject {
  if (locate(message, part).row !== undefined) {
    openLink(message.elsewhere);
    const isMoved = waitFor(showSec, () => (locate(message, part).row === undefined ? true : undefined));
    if (isMoved === undefined) refuse('differs');
  }
  openLink(`message-guid=${encodeURIComponent(message.guid)}`);
  const row = waitFor(showSec, () => locate(message, part).row);
  return row ?? refuse(locate(message, part).reason);
}

/** The elements of a row that can have the actions of its bubble. */
const actionHolders = (row: NativeObject): NativeObject[] => [
  ...findAll(row, (element) => (identifierOf(element) ?? '').startsWith('CKBalloon')),
  ...elementsOf(row, 'AXChildren').slice(0, 1),
  row,
];

/** Returns the action with this title. Its name is `Name:TITLE`, and further lines. */
export function findAction(
  row: NativeObject,
  isTitle: (title: string) => boolean,
): { element: NativeObject; name: string } | undefined {
  for (const element of actionHolders(row)) {
    const name = actionsOf(element).find((action) => {
      const title = /^Name:([^\n]*)/.exec(action)?.[1];
      return title !== undefined && isTitle(title);
    });
    if (name !== undefined) return { element, name };
  }
  return undefined;
}
