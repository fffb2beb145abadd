import { accessibilityLibrary } from './accessibility.ts';
import type { Accessibility, LabelKey, ScreenLimits, ShownMessage } from './accessibility.ts';
import type { NativeObject } from './jxa-accessibility.ts';

export interface DescribeInput {
  readonly limits: ScreenLimits;
  readonly message: ShownMessage;
  readonly part: number;
  readonly labels: readonly LabelKey[];
}

/**
 * Shows a message and describes the windows of Messages without their content. A text is reported only as the key of a label of the
 * system: other texts can be names, numbers and messages.
 */
function describeWindows(screen: Accessibility): void {
  const MAX_ELEMENTS = 500;
  /** Without digits, signs and spaces: a number or an address does not match. */
  const IDENTIFIER = /^[A-Za-z_.]{1,60}$/;

  screen.run((input: DescribeInput) => {
    const { message, part, labels, limits } = input;
    screen.write({ step: 'language', language: screen.language() ?? null });
    for (const label of labels)
      screen.write({ step: 'label', ...label, text: screen.labelOf(label) ?? null });
    screen.showMessage(message, part, limits);

    const actionOf = (name: string): string => {
      const title = /^Name:([^\n]*)/.exec(name)?.[1];
      if (title === undefined) return /^AX[A-Za-z]{1,40}$/.test(name) ? name : 'other';
      const keys = screen.keysOf(title);
      return keys.length > 0 ? `Name:${keys.join(' ')}` : 'Name:other';
    };
    const childrenOf = (element: NativeObject): NativeObject[] => {
      if (screen.isConversationList(element)) return [];
      const children = screen.elementsOf(element, 'AXChildren');
      // The other rows have messages of people.
      const isTranscript = screen.identifierOf(element) === 'TranscriptCollectionView';
      return isTranscript ? children.filter((row) => screen.isSelected(row)) : children;
    };
    let count = 0;
    const describe = (element: NativeObject, depth: number): void => {
      count += 1;
      if (count > MAX_ELEMENTS) return;
      const subrole = screen.textOf(element, 'AXSubrole');
      const identifier = screen.identifierOf(element);
      const text = screen.textOf(element, 'AXDescription') ?? screen.textOf(element, 'AXTitle');
      screen.write({
        step: 'element',
        depth,
        role: screen.textOf(element, 'AXRole') ?? '',
        ...(subrole === undefined ? {} : { subrole }),
        ...(identifier !== undefined && IDENTIFIER.test(identifier) ? { identifier } : {}),
        ...(text === undefined || text === '' ? {} : { labels: screen.keysOf(text) }),
        ...(screen.isTrue(element, 'AXSelected') ? { isSelected: true } : {}),
        actions: screen.actionsOf(element).map(actionOf),
        children: screen.elementsOf(element, 'AXChildren').length,
      });
      for (const child of childrenOf(element)) describe(child, depth + 1);
    };
    for (const window of screen.windows()) describe(window, 0);
    screen.write({ step: 'described' });
  });
}

export const describeWindowsProgram = { library: accessibilityLibrary, main: describeWindows };
