import { accessibilityLibrary } from './accessibility.ts';
import type { Accessibility, LabelKey, ScreenLimits, ShownMessage } from './accessibility.ts';
import type { NativeObject } from './jxa-accessibility.ts';

export interface ComposeInput {
  readonly limits: ScreenLimits;
  readonly text: string;
  readonly to:
    /** The chat of this message. The program sends only when Messages shows the message. */
    | { readonly chatOf: ShownMessage }
    /** The thread of a part of this message. */
    | { readonly replyTo: ShownMessage; readonly part: number }
    /** A new conversation with exactly these people. */
    | { readonly people: readonly string[] };
  /** The English name of the effect, as the system's own table has it. */
  readonly effect?: string;
  readonly labels: {
    readonly reply: LabelKey;
    /** `%@` is the name of the effect. */
    readonly sendWithEffect: LabelKey;
  };
  /** English texts of labels whose keys are not known. */
  readonly english: {
    readonly add: readonly string[];
    readonly effects: string;
    readonly effect: string;
  };
}

/** Writes one text in Messages and sends it, once. */
function composeMessage(screen: Accessibility): void {
  const OPEN_SEC = 2;
  const PREPARATIONS = 2;

  screen.run((input: ComposeInput) => {
    const { text, to, labels, english, limits } = input;

    /** The recipients of a new conversation. Each is a button with the address in its description. */
    const hasExactly = (people: readonly string[]): boolean => {
      const chips = screen
        .windows()
        .flatMap((window) => screen.withRole(window, 'AXPopUpButton'))
        .map((chip) => (screen.textOf(chip, 'AXDescription') ?? '').split(',').map((field) => field.trim()));
      const isNamed = (person: string): boolean =>
        chips.filter((fields) => fields.includes(person)).length === 1;
      return chips.length === people.length && people.every(isNamed);
    };
    const openConversation = (): (() => void) => {
      if ('chatOf' in to) {
        screen.showMessage(to.chatOf, 0, limits);
        return () => {
          if (screen.transcripts('reply').length > 0) screen.refuse('reply_open');
          if (!screen.isVisible(to.chatOf)) screen.refuse('differs');
        };
      }
      if ('replyTo' in to) {
        const row = screen.showMessage(to.replyTo, to.part, limits);
        const title = screen.requireLabel(labels.reply);
        const action = screen.findAction(row, (found) => found === title);
        if (action === undefined) return screen.refuse('no_action');
        screen.atEnd(() => screen.closeReply());
        screen.perform(action.element, action.name);
        const isOpen = (): true | undefined => (screen.transcripts('reply').length === 1 ? true : undefined);
        if (screen.waitFor(OPEN_SEC, isOpen) === undefined) screen.refuse('no_reply_mode');
        return () => {
          if (isOpen() === undefined) screen.refuse('no_reply_mode');
        };
      }
      const { people } = to;
      const list = people.map((person) => encodeURIComponent(person)).join(',');
      screen.openLink(`${people.length > 1 ? 'addresses' : 'address'}=${list}`);
      const isReady = (): true | undefined => (hasExactly(people) ? true : undefined);
      if (screen.waitFor(limits.showSec, isReady) === undefined) screen.refuse('other_recipients');
      return () => {
        if (isReady() === undefined) screen.refuse('other_recipients');
      };
    };
    const findComposer = (): NativeObject | undefined => {
      const all = screen.composers();
      const [transcript] = 'replyTo' in to ? screen.transcripts('reply') : [];
      const linked = transcript === undefined ? [] : screen.elementsOf(transcript, 'AXLinkedUIElements');
      const ofReply = linked.find((element) => screen.identifierOf(element) === 'messageBodyField');
      return ofReply ?? (all.length === 1 ? all[0] : undefined);
    };
    const isEmpty = (element: NativeObject): boolean => (screen.textOf(element, 'AXValue') ?? '') === '';
    const isOurs = (element: NativeObject): boolean => screen.textOf(element, 'AXValue') === text;

    const requireConversation = openConversation();
    const composer = screen.waitFor(limits.showSec, findComposer) ?? screen.refuse('no_composer');
    if (!isEmpty(composer)) screen.refuse('draft');
    screen.atEnd(() => {
      // What was sent is gone from the field. What the owner wrote in the meantime stays.
      if (screen.waitFor(1, () => (isOurs(composer) ? undefined : true)) === undefined)
        screen.setText(composer, '');
    });
    if (!screen.setText(composer, text)) screen.refuse('no_composer');
    if (screen.waitFor(OPEN_SEC, () => (isOurs(composer) ? true : undefined)) === undefined)
      screen.refuse('no_composer');

    const sendButtons = (): NativeObject[] =>
      screen.windows().flatMap((window) => screen.withIdentifier(window, 'sendButton'));
    const requireText = (): void => {
      requireConversation();
      if (!isOurs(composer)) screen.refuse('draft');
    };

    const send = (): void => {
      const [button, second] = sendButtons();
      if (button !== undefined && second === undefined) return screen.press(button, 'AXPress', requireText);
      if (!screen.setFocused(composer)) screen.refuse('no_composer');
      screen.pressReturn(() => {
        requireText();
        if (!screen.isTrue(composer, 'AXFocused')) screen.refuse('not_in_front');
      });
    };

    const sameLabel = (label: string | undefined, other: string): boolean =>
      label !== undefined && label.toLowerCase() === other.toLowerCase();
    const within = (format: string, name: string): string => format.replace('%@', name);
    const sendWithEffect = (effect: string): void => {
      const names = screen.labelsOfEnglish(effect);
      const titles = screen
        .labelsOfEnglish(english.effect)
        .flatMap((format) => names.map((name) => within(format, name)));
      const sendTitles = names.map((name) => within(screen.requireLabel(labels.sendWithEffect), name));
      const menuTitles = screen.labelsOfEnglish(english.effects);
      const addTitles = english.add.flatMap((label) => screen.labelsOfEnglish(label));
      if (titles.length === 0 || menuTitles.length === 0 || addTitles.length === 0) screen.refuse('no_label');
      const find = (role: string, attribute: string, wanted: readonly string[]): NativeObject | undefined => {
        const found = screen
          .windows()
          .flatMap((window) => screen.withRole(window, role))
          .filter((element) => wanted.some((label) => sameLabel(screen.textOf(element, attribute), label)));
        return found.length === 1 ? found[0] : undefined;
      };
      const pressShown = (role: string, attribute: string, wanted: readonly string[]): boolean => {
        const element = screen.waitFor(OPEN_SEC, () => find(role, attribute, wanted));
        return element !== undefined && screen.perform(element, 'AXPress');
      };
      screen.atEnd(() => {
        const close = screen.windows().flatMap((window) => screen.withIdentifier(window, 'closeButton'))[0];
        if (close !== undefined) screen.perform(close, 'AXPress');
      });
      const isPrepared = (): boolean =>
        pressShown('AXButton', 'AXDescription', addTitles) &&
        pressShown('AXMenuItem', 'AXTitle', menuTitles) &&
        pressShown('AXButton', 'AXDescription', titles);
      // The list of effects sometimes does not open. Nothing is sent by trying again.
      for (let attempt = 1; !isPrepared(); attempt++) if (attempt >= PREPARATIONS) screen.refuse('no_effect');
      const findSend = (): NativeObject | undefined => find('AXButton', 'AXDescription', sendTitles);
      const button = screen.waitFor(OPEN_SEC, findSend) ?? screen.refuse('no_effect');
      screen.press(button, 'AXPress', () => {
        // The preview hides the transcript: its bubble is the only one.
        const [preview, second] = screen
          .windows()
          .flatMap((window) => screen.withIdentifier(window, 'CKBalloonTextView'));
        if (preview === undefined || second !== undefined || screen.textOf(preview, 'AXValue') !== text)
          screen.refuse('no_effect');
        if (findSend() === undefined) screen.refuse('no_effect');
      });
    };

    requireText();
    if (input.effect === undefined) send();
    else sendWithEffect(input.effect);
  });
}

export const composeProgram = { library: accessibilityLibrary, main: composeMessage };
