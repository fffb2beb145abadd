import { findAction, locate, showMessage } from './bubbles.ts';
import {
  attribute,
  elementsOf,
  findAll,
  identifierOf,
  isTrue,
  textOf,
  withIdentifier,
  withRole,
} from './elements.ts';
import type { NativeObject } from './jxa-accessibility.ts';
import { requireLabel } from './labels.ts';
import { atEnd, perform, press, setNumber } from './presses.ts';
import { refuse } from './refuse.ts';
import { run } from './run-program.ts';
import type { LabelKey, ScreenLimits, ShownMessage } from './screen-lines.ts';
import { waitFor } from './session.ts';
import { windows } from './windows.ts';

export interface TapbackInput {
  readonly limits: ScreenLimits;
  readonly message: ShownMessage;
  readonly part: number;
  /** Whether the store has this Tapback of the owner already: the press removes it. */
  readonly isActive: boolean;
  readonly tapback:
    | {
        readonly kind: 'classic';
        readonly title: LabelKey;
        /** In the picker of macOS 15 and later. */
        readonly identifier: string;
        /** In the picker of older versions. */
        readonly place: number;
      }
    | { readonly kind: 'emoji'; readonly emoji: string };
  readonly labels: {
    /** The action that opens the picker. */
    readonly picker: LabelKey;
    /** The action that opens the list of all emoji. */
    readonly allEmoji: LabelKey;
    /** The button in the picker that opens the list of all emoji. */
    readonly moreEmoji: LabelKey;
  };
}

const CLASSIC_TAPBACKS = 6;
const OPEN_SEC = 1.5;
const POPOVER_SEC = 5;
/** Positions of the scroll bar. The list opens at the top, or where it was left. */
const SCROLL_POSITIONS = [0.2, 0.4, 0.6, 0.8, 1, 0];
const SCROLL_SEC = 0.3;

/** Presses one Tapback on one bubble, once. */
run((input: TapbackInput) => {
  const { message, part, tapback, labels, limits } = input;
  const row = showMessage(message, part, limits);
  const requireSameBubble = (): void => {
    if (locate(message, part).row === undefined) refuse('differs');
  };
  const sameEmoji = (text: string, emoji: string): boolean =>
    text.replace(/\uFE0F/g, '') === emoji.replace(/\uFE0F/g, '');

  const pickers = (): NativeObject[] =>
    windows().flatMap((window) => withIdentifier(window, 'TapbackPickerCollectionView'));
  const buttonsIn = (element: NativeObject): NativeObject[] =>
    elementsOf(element, 'AXChildren').filter((child) => textOf(child, 'AXRole') === 'AXButton');
  /** The picker of macOS 13 and 14: a group with six buttons. */
  const sixButtons = (): NativeObject[] => {
    const groups = windows().flatMap((window) =>
      findAll(window, (element) => buttonsIn(element).length === CLASSIC_TAPBACKS),
    );
    const [group, second] = groups;
    return group === undefined || second !== undefined ? [] : buttonsIn(group);
  };
  const openPicker = (): void => {
    const title = requireLabel(labels.picker);
    const action = findAction(row, (found) => found === title);
    if (action === undefined) return refuse('no_action');
    atEnd(() => {
      for (const picker of pickers()) perform(picker, 'AXCancel');
      for (const button of sixButtons().slice(0, 1)) perform(button, 'AXCancel');
    });
    perform(action.element, action.name);
  };

  const pressClassic = (title: string, identifier: string, place: number): void => {
    const direct = findAction(row, (found) => found === title);
    if (direct !== undefined) return press(direct.element, direct.name, requireSameBubble);
    openPicker();
    const find = (): NativeObject | undefined => {
      const inPicker = pickers().flatMap((picker) =>
        findAll(picker, (element) => identifierOf(element) === identifier),
      );
      if (inPicker.length > 0) return inPicker.length === 1 ? inPicker[0] : undefined;
      const six = sixButtons();
      const labelled = six.filter((button) => (textOf(button, 'AXDescription') ?? '') !== '');
      if (labelled.length === 0) return six[place];
      const wanted = labelled.filter((button) => textOf(button, 'AXDescription') === title);
      return wanted.length === 1 ? wanted[0] : undefined;
    };
    const button = waitFor(OPEN_SEC, find) ?? refuse('no_picker');
    // The store can be behind: a press would then do the opposite.
    const isActive = attribute(button, 'AXSelected') === undefined ? undefined : isTrue(button, 'AXSelected');
    if (isActive !== undefined && isActive !== input.isActive) refuse('state_differs');
    press(button, 'AXPress', () => {
      if (find() === undefined) refuse('no_picker');
    });
  };

  /** The list of all emoji: a popover, or since macOS 26 a window of its own. */
  const emojiLists = (): NativeObject[] =>
    windows().flatMap((window) => {
      const popovers = withRole(window, 'AXPopover');
      const isConversation = withIdentifier(window, 'messageBodyField').length > 0;
      const isList = !isConversation && withRole(window, 'AXScrollBar').length > 0;
      return isList && popovers.length === 0 ? [window] : popovers;
    });
  const openEmojiList = (): NativeObject => {
    const title = requireLabel(labels.allEmoji);
    const action = findAction(row, (found) => found === title);
    atEnd(() => {
      for (const list of emojiLists()) perform(list, 'AXCancel');
    });
    if (action === undefined) openPicker();
    else perform(action.element, action.name);
    const shown = waitFor(POPOVER_SEC, () => emojiLists()[0] ?? pickers()[0]);
    if (shown === undefined) return refuse('no_picker');
    if (emojiLists().length > 0) return shown;
    const moreEmoji = requireLabel(labels.moreEmoji);
    const more = windows()
      .flatMap((window) => withRole(window, 'AXButton'))
      .find((button) => textOf(button, 'AXDescription') === moreEmoji);
    if (more === undefined) return refuse('no_picker');
    perform(more, 'AXPress');
    return waitFor(POPOVER_SEC, () => emojiLists()[0]) ?? refuse('no_picker');
  };

  const pressEmoji = (emoji: string): void => {
    // Emoji that were used recently are actions of the bubble.
    const direct = findAction(row, (title) => sameEmoji(title, emoji));
    if (direct !== undefined) return press(direct.element, direct.name, requireSameBubble);
    const list = openEmojiList();
    const shown = (): { button: NativeObject; glyph: string }[] =>
      withRole(list, 'AXButton').map((button) => ({ button, glyph: textOf(button, 'AXDescription') ?? '' }));
    const find = (): NativeObject | undefined => shown().find(({ glyph }) => sameEmoji(glyph, emoji))?.button;
    const glyphs = (): string =>
      shown()
        .map(({ glyph }) => glyph)
        .join(' ');
    /** Waits until the list shows other emoji, and shows them twice in a row. */
    const waitForScroll = (before: string): void => {
      let last = before;
      waitFor(SCROLL_SEC, () => {
        const now = glyphs();
        const isSettled = now !== before && now === last;
        last = now;
        return isSettled ? true : undefined;
      });
    };
    const [bar] = withRole(list, 'AXScrollBar');
    // Only the visible emoji exist as elements.
    for (const position of SCROLL_POSITIONS) {
      if (bar === undefined || find() !== undefined) break;
      const before = glyphs();
      if (!setNumber(bar, position)) break;
      waitForScroll(before);
    }
    const button = find() ?? refuse('no_emoji');
    press(button, 'AXPress', () => {
      if (find() === undefined) refuse('no_emoji');
    });
  };

  if (tapback.kind === 'emoji') pressEmoji(tapback.emoji);
  else pressClassic(requireLabel(tapback.title), tapback.identifier, tapback.place);
});
