import { accessibilityLibrary } from './accessibility.ts';
import type { Accessibility, LabelKey, ScreenLimits, ShownMessage } from './accessibility.ts';
import type { NativeObject } from './jxa-accessibility.ts';

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

/** Presses one Tapback on one bubble, once. */
function pressTapback(screen: Accessibility): void {
  const CLASSIC_TAPBACKS = 6;
  const OPEN_SEC = 1.5;
  const POPOVER_SEC = 5;
  /** Positions of the scroll bar. The list opens at the top, or where it was left. */
  const SCROLL_POSITIONS = [0.2, 0.4, 0.6, 0.8, 1, 0];
  const SCROLL_SEC = 0.3;

  screen.run((input: TapbackInput) => {
    const { message, part, tapback, labels, limits } = input;
    const row = screen.showMessage(message, part, limits);
    const requireSameBubble = (): void => {
      if (screen.locate(message, part).row === undefined) screen.refuse('differs');
    };
    const sameEmoji = (text: string, emoji: string): boolean =>
      text.replace(/\uFE0F/g, '') === emoji.replace(/\uFE0F/g, '');

    const pickers = (): NativeObject[] =>
      screen.windows().flatMap((window) => screen.withIdentifier(window, 'TapbackPickerCollectionView'));
    const buttonsIn = (element: NativeObject): NativeObject[] =>
      screen
        .elementsOf(element, 'AXChildren')
        .filter((child) => screen.textOf(child, 'AXRole') === 'AXButton');
    /** The picker of macOS 13 and 14: a group with six buttons. */
    const sixButtons = (): NativeObject[] => {
      const groups = screen
        .windows()
        .flatMap((window) =>
          screen.findAll(window, (element) => buttonsIn(element).length === CLASSIC_TAPBACKS),
        );
      const [group, second] = groups;
      return group === undefined || second !== undefined ? [] : buttonsIn(group);
    };
    const openPicker = (): void => {
      const title = screen.requireLabel(labels.picker);
      const action = screen.findAction(row, (found) => found === title);
      if (action === undefined) return screen.refuse('no_action');
      screen.atEnd(() => {
        for (const picker of pickers()) screen.perform(picker, 'AXCancel');
        for (const button of sixButtons().slice(0, 1)) screen.perform(button, 'AXCancel');
      });
      screen.perform(action.element, action.name);
    };

    const pressClassic = (title: string, identifier: string, place: number): void => {
      const direct = screen.findAction(row, (found) => found === title);
      if (direct !== undefined) return screen.press(direct.element, direct.name, requireSameBubble);
      openPicker();
      const find = (): NativeObject | undefined => {
        const inPicker = pickers().flatMap((picker) =>
          screen.findAll(picker, (element) => screen.identifierOf(element) === identifier),
        );
        if (inPicker.length > 0) return inPicker.length === 1 ? inPicker[0] : undefined;
        const six = sixButtons();
        const labelled = six.filter((button) => (screen.textOf(button, 'AXDescription') ?? '') !== '');
        if (labelled.length === 0) return six[place];
        const wanted = labelled.filter((button) => screen.textOf(button, 'AXDescription') === title);
        return wanted.length === 1 ? wanted[0] : undefined;
      };
      const button = screen.waitFor(OPEN_SEC, find) ?? screen.refuse('no_picker');
      // The store can be behind: a press would then do the opposite.
      const isActive =
        screen.attribute(button, 'AXSelected') === undefined
          ? undefined
          : screen.isTrue(button, 'AXSelected');
      if (isActive !== undefined && isActive !== input.isActive) screen.refuse('state_differs');
      screen.press(button, 'AXPress', () => {
        if (find() === undefined) screen.refuse('no_picker');
      });
    };

    /** The list of all emoji: a popover, or since macOS 26 a window of its own. */
    const emojiLists = (): NativeObject[] =>
      screen.windows().flatMap((window) => {
        const popovers = screen.withRole(window, 'AXPopover');
        const isConversation = screen.withIdentifier(window, 'messageBodyField').length > 0;
        const isList = !isConversation && screen.withRole(window, 'AXScrollBar').length > 0;
        return isList && popovers.length === 0 ? [window] : popovers;
      });
    const openEmojiList = (): NativeObject => {
      const title = screen.requireLabel(labels.allEmoji);
      const action = screen.findAction(row, (found) => found === title);
      screen.atEnd(() => {
        for (const list of emojiLists()) screen.perform(list, 'AXCancel');
      });
      if (action === undefined) openPicker();
      else screen.perform(action.element, action.name);
      const shown = screen.waitFor(POPOVER_SEC, () => emojiLists()[0] ?? pickers()[0]);
      if (shown === undefined) return screen.refuse('no_picker');
      if (emojiLists().length > 0) return shown;
      const moreEmoji = screen.requireLabel(labels.moreEmoji);
      const more = screen
        .windows()
        .flatMap((window) => screen.withRole(window, 'AXButton'))
        .find((button) => screen.textOf(button, 'AXDescription') === moreEmoji);
      if (more === undefined) return screen.refuse('no_picker');
      screen.perform(more, 'AXPress');
      return screen.waitFor(POPOVER_SEC, () => emojiLists()[0]) ?? screen.refuse('no_picker');
    };

    const pressEmoji = (emoji: string): void => {
      // Emoji that were used recently are actions of the bubble.
      const direct = screen.findAction(row, (title) => sameEmoji(title, emoji));
      if (direct !== undefined) return screen.press(direct.element, direct.name, requireSameBubble);
      const list = openEmojiList();
      const shown = (): { button: NativeObject; glyph: string }[] =>
        screen
          .withRole(list, 'AXButton')
          .map((button) => ({ button, glyph: screen.textOf(button, 'AXDescription') ?? '' }));
      const find = (): NativeObject | undefined =>
        shown().find(({ glyph }) => sameEmoji(glyph, emoji))?.button;
      const glyphs = (): string =>
        shown()
          .map(({ glyph }) => glyph)
          .join(' ');
      /** Waits until the list shows other emoji, and shows them twice in a row. */
      const waitForScroll = (before: string): void => {
        let last = before;
        screen.waitFor(SCROLL_SEC, () => {
          const now = glyphs();
          const isSettled = now !== before && now === last;
          last = now;
          return isSettled ? true : undefined;
        });
      };
      const [bar] = screen.withRole(list, 'AXScrollBar');
      // Only the visible emoji exist as elements.
      for (const position of SCROLL_POSITIONS) {
        if (bar === undefined || find() !== undefined) break;
        const before = glyphs();
        if (!screen.setNumber(bar, position)) break;
        waitForScroll(before);
      }
      const button = find() ?? screen.refuse('no_emoji');
      screen.press(button, 'AXPress', () => {
        if (find() === undefined) screen.refuse('no_emoji');
      });
    };

    if (tapback.kind === 'emoji') pressEmoji(tapback.emoji);
    else pressClassic(screen.requireLabel(tapback.title), tapback.identifier, tapback.place);
  });
}

export const tapbackProgram = { library: accessibilityLibrary, main: pressTapback };
