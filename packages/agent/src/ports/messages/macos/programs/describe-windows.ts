import { isSelected, showMessage } from './bubbles.ts';
import { actionsOf, elementsOf, identifierOf, isConversationList, isTrue, textOf } from './elements.ts';
import type { NativeObject } from './jxa-accessibility.ts';
import { keysOf, labelOf, language } from './labels.ts';
import { run } from './run-program.ts';
import type { LabelKey, ScreenLimits, ShownMessage, DescriptionLine } from './screen-lines.ts';
import { write } from './streams.ts';
import { windows } from './windows.ts';

export interface DescribeInput {
  readonly limits: ScreenLimits;
  readonly message: ShownMessage;
  readonly part: number;
  readonly labels: readonly LabelKey[];
}

const MAX_ELEMENTS = 500;
/** Without digits, signs and spaces: a number or an address does not match. */
const IDENTIFIER = /^[A-Za-z_.]{1,60}$/;

/**
 * Shows a message and describes the windows of Messages without their content. A text is reported only as the key of a label of the
 * system: other texts can be names, numbers and messages.
 */
run((input: DescribeInput) => {
  const { message, part, labels, limits } = input;
  write({ step: 'language', language: language() ?? null } satisfies DescriptionLine);
  for (const label of labels)
    write({ step: 'label', ...label, text: labelOf(label) ?? null } satisfies DescriptionLine);
  showMessage(message, part, limits);

  const actionOf = (name: string): string => {
    const title = /^Name:([^\n]*)/.exec(name)?.[1];
    if (title === undefined) return /^AX[A-Za-z]{1,40}$/.test(name) ? name : 'other';
    const keys = keysOf(title);
    return keys.length > 0 ? `Name:${keys.join(' ')}` : 'Name:other';
  };
  const childrenOf = (element: NativeObject): NativeObject[] => {
    if (isConversationList(element)) return [];
    const children = elementsOf(element, 'AXChildren');
    // The other rows have messages of people.
    const isTranscript = identifierOf(element) === 'TranscriptCollectionView';
    return isTranscript ? children.filter((row) => isSelected(row)) : children;
  };
  let count = 0;
  const describe = (element: NativeObject, depth: number): void => {
    count += 1;
    if (count > MAX_ELEMENTS) return;
    const subrole = textOf(element, 'AXSubrole');
    const identifier = identifierOf(element);
    const text = textOf(element, 'AXDescription') ?? textOf(element, 'AXTitle');
    write({
      step: 'element',
      depth,
      role: textOf(element, 'AXRole') ?? '',
      ...(subrole === undefined ? {} : { subrole }),
      ...(identifier !== undefined && IDENTIFIER.test(identifier) ? { identifier } : {}),
      ...(text === undefined || text === '' ? {} : { labels: keysOf(text) }),
      ...(isTrue(element, 'AXSelected') ? { isSelected: true } : {}),
      actions: actionsOf(element).map(actionOf),
      children: elementsOf(element, 'AXChildren').length,
    } satisfies DescriptionLine);
    for (const child of childrenOf(element)) describe(child, depth + 1);
  };
  for (const window of windows()) describe(window, 0);
  write({ step: 'described' } satisfies DescriptionLine);
});
