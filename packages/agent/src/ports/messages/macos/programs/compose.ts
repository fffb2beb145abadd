import { findAction, isVisible, openLink, showMessage } from './bubbles.ts';
import { elementsOf, identifierOf, isTrue, textOf, withIdentifier, withRole } from './elements.ts';
import type { NativeObject } from './jxa-accessibility.ts';
import { labelsOfEnglish, requireLabel } from './labels.ts';
import { atEnd, perform, press, pressReturn, setFocused, setText } from './presses.ts';
import { refuse } from './refuse.ts';
import { run } from './run-program.ts';
import type { LabelKey, ScreenLimits, ShownMessage } from './screen-lines.ts';
import { waitFor } from './session.ts';
import { closeReply, composers, transcripts, windows } from './windows.ts';

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

const OPEN_SEC = 2;
const PREPARATIONS = 2;

/** Writes one text in Messages and sends it, once. */
run((input: ComposeInput) => {
  const { text, to, labels, english, limits } = input;

  /** The recipients of a new conversation. Each is a button with the address in its description. */
  const hasExactly = (people: readonly string[]): boolean => {
    const chips = windows()
      .flatMap((window) => withRole(window, 'AXPopUpButton'))
      .map((chip) => (textOf(chip, 'AXDescription') ?? '').split(',').map((field) => field.trim()));
    const isNamed = (person: string): boolean =>
      chips.filter((fields) => fields.includes(person)).length === 1;
    return chips.length === people.length && people.every(isNamed);
  };
  const openConversation = (): (() => void) => {
    if ('chatOf' in to) {
      showMessage(to.chatOf, 0, limits);
      return () => {
        if (transcripts('reply').length > 0) refuse('reply_open');
        if (!isVisible(to.chatOf)) refuse('differs');
      };
    }
    if ('replyTo' in to) {
      const row = showMessage(to.replyTo, to.part, limits);
      const title = requireLabel(labels.reply);
      const action = findAction(row, (found) => found === title);
      if (action === undefined) return refuse('no_action');
      atEnd(() => closeReply());
      perform(action.element, action.name);
      const isOpen = (): true | undefined => (transcripts('reply').length === 1 ? true : undefined);
      if (waitFor(OPEN_SEC, isOpen) === undefined) refuse('no_reply_mode');
      return () => {
        if (isOpen() === undefined) refuse('no_reply_mode');
      };
    }
    const { people } = to;
    const list = people.map((person) => encodeURIComponent(person)).join(',');
    openLink(`${people.length > 1 ? 'addresses' : 'address'}=${list}`);
    const isReady = (): true | undefined => (hasExactly(people) ? true : undefined);
    if (waitFor(limits.showSec, isReady) === undefined) refuse('other_recipients');
    return () => {
      if (isReady() === undefined) refuse('other_recipients');
    };
  };
  const findComposer = (): NativeObject | undefined => {
    const all = composers();
    const [transcript] = 'replyTo' in to ? transcripts('reply') : [];
    const linked = transcript === undefined ? [] : elementsOf(transcript, 'AXLinkedUIElements');
    const ofReply = linked.find((element) => identifierOf(element) === 'messageBodyField');
    return ofReply ?? (all.length === 1 ? all[0] : undefined);
  };
  const isEmpty = (element: NativeObject): boolean => (textOf(element, 'AXValue') ?? '') === '';
  const isOurs = (element: NativeObject): boolean => textOf(element, 'AXValue') === text;

  const requireConversation = openConversation();
  const composer = waitFor(limits.showSec, findComposer) ?? refuse('no_composer');
  if (!isEmpty(composer)) refuse('draft');
  atEnd(() => {
    // What was sent is gone from the field. What the owner wrote in the meantime stays.
    if (waitFor(1, () => (isOurs(composer) ? undefined : true)) === undefined) setText(composer, '');
  });
  if (!setText(composer, text)) refuse('no_composer');
  if (waitFor(OPEN_SEC, () => (isOurs(composer) ? true : undefined)) === undefined) refuse('no_composer');

  const sendButtons = (): NativeObject[] =>
    windows().flatMap((window) => withIdentifier(window, 'sendButton'));
  const requireText = (): void => {
    requireConversation();
    if (!isOurs(composer)) refuse('draft');
  };

  const send = (): void => {
    const [button, second] = sendButtons();
    if (button !== undefined && second === undefined) return press(button, 'AXPress', requireText);
    if (!setFocused(composer)) refuse('no_composer');
    pressReturn(() => {
      requireText();
      if (!isTrue(composer, 'AXFocused')) refuse('not_in_front');
    });
  };

  const sameLabel = (label: string | undefined, other: string): boolean =>
    label !== undefined && label.toLowerCase() === other.toLowerCase();
  const within = (format: string, name: string): string => format.replace('%@', name);
  const sendWithEffect = (effect: string): void => {
    const names = labelsOfEnglish(effect);
    const titles = labelsOfEnglish(english.effect).flatMap((format) =>
      names.map((name) => within(format, name)),
    );
    const sendTitles = names.map((name) => within(requireLabel(labels.sendWithEffect), name));
    const menuTitles = labelsOfEnglish(english.effects);
    const addTitles = english.add.flatMap((label) => labelsOfEnglish(label));
    if (titles.length === 0 || menuTitles.length === 0 || addTitles.length === 0) refuse('no_label');
    const find = (role: string, attribute: string, wanted: readonly string[]): NativeObject | undefined => {
      const found = windows()
        .flatMap((window) => withRole(window, role))
        .filter((element) => wanted.some((label) => sameLabel(textOf(element, attribute), label)));
      return found.length === 1 ? found[0] : undefined;
    };
    const pressShown = (role: string, attribute: string, wanted: readonly string[]): boolean => {
      const element = waitFor(OPEN_SEC, () => find(role, attribute, wanted));
      return element !== undefined && perform(element, 'AXPress');
    };
    atEnd(() => {
      const close = windows().flatMap((window) => withIdentifier(window, 'closeButton'))[0];
      if (close !== undefined) perform(close, 'AXPress');
    });
    const isPrepared = (): boolean =>
      pressShown('AXButton', 'AXDescription', addTitles) &&
      pressShown('AXMenuItem', 'AXTitle', menuTitles) &&
      pressShown('AXButton', 'AXDescription', titles);
    // The list of effects sometimes does not open. Nothing is sent by trying again.
    for (let attempt = 1; !isPrepared(); attempt++) if (attempt >= PREPARATIONS) refuse('no_effect');
    const findSend = (): NativeObject | undefined => find('AXButton', 'AXDescription', sendTitles);
    const button = waitFor(OPEN_SEC, findSend) ?? refuse('no_effect');
    press(button, 'AXPress', () => {
      // The preview hides the transcript: its bubble is the only one.
      const [preview, second] = windows().flatMap((window) => withIdentifier(window, 'CKBalloonTextView'));
      if (preview === undefined || second !== undefined || textOf(preview, 'AXValue') !== text)
        refuse('no_effect');
      if (findSend() === undefined) refuse('no_effect');
    });
  };

  requireText();
  if (input.effect === undefined) send();
  else sendWithEffect(input.effect);
});
