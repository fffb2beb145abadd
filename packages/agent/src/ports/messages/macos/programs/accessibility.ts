import type { ElementShape } from '../../messages-shape.ts';
import type { JxaAccessibility, NativeDictionary, NativeObject } from './jxa-accessibility.ts';

/** Why a program did nothing. Nothing was pressed and nothing was sent. */
export type RefusalReason =
  | 'not_trusted'
  | 'locked'
  | 'away'
  | 'owner_active'
  | 'not_running'
  | 'several_windows'
  | 'sheet'
  | 'reply_open'
  | 'link_rejected'
  | 'not_shown'
  | 'not_selected'
  | 'several_selected'
  | 'differs'
  | 'no_label'
  | 'no_action'
  | 'no_picker'
  | 'state_differs'
  | 'no_emoji'
  | 'no_composer'
  | 'draft'
  | 'no_reply_mode'
  | 'other_recipients'
  | 'no_effect'
  | 'not_in_front';

export type ScreenLine =
  | { readonly step: 'refused'; readonly reason: RefusalReason }
  /** Written directly before the press. Without this line nothing was pressed. */
  | { readonly step: 'dispatching' }
  | { readonly step: 'dispatched' }
  /** An Accessibility call failed. */
  | { readonly step: 'error'; readonly number: number };

/** What the program that describes the windows writes. */
export type DescriptionLine =
  | { readonly step: 'language'; readonly language: string | null }
  | ({ readonly step: 'label'; readonly text: string | null } & LabelKey)
  | ({ readonly step: 'element' } & ElementShape)
  | { readonly step: 'described' };

/** A label of Messages: its key in a table of the system, which has it in the language of the user. */
export interface LabelKey {
  readonly table: 'Accessibility' | 'ChatKit';
  readonly key: string;
}

export interface ScreenLimits {
  /** The owner's keyboard must be idle for this long. */
  readonly idleSec: number;
  /** How long to wait for that. */
  readonly idleWaitSec: number;
  /** How long Messages may take to show something. */
  readonly showSec: number;
}

/** A message as the transcript must show it. */
export interface ShownMessage {
  readonly guid: string;
  /** The bubbles of the message, in order. One without a text shows a file or a link. */
  readonly parts: readonly { readonly text?: string; readonly isLink?: true }[];
  /** The query of a link to another place of the chat, to move an earlier selection away from a bubble that looks the same. */
  readonly elsewhere: string;
}

declare const ObjC: JxaAccessibility['ObjC'];
declare const $: JxaAccessibility['$'];
declare const Ref: JxaAccessibility['Ref'];
declare const delay: JxaAccessibility['delay'];

export type Accessibility = ReturnType<typeof accessibilityLibrary>;

/**
 * The part that the Accessibility programs share. Runs inside `osascript`: it must not refer to anything outside of itself, and may
 * use ES2021 only. Elements are found by identifier, role and place; labels come from the tables of the system.
 */
export function accessibilityLibrary() {
  const UTF8 = 4;
  const MESSAGES = 'com.apple.MobileSMS';
  const NOT_TRUSTED = -25211;
  const MAX_ELEMENTS = 5000;
  /** Other people's conversations: private, and slow to read. */
  const SKIPPED = new Set(['ConversationList', 'CKConversationListCollectionView']);
  const TABLES = {
    Accessibility: '/System/iOSSupport/System/Library/AccessibilityBundles/ChatKitFramework.axbundle',
    ChatKit: '/System/iOSSupport/System/Library/PrivateFrameworks/ChatKit.framework',
  };
  for (const framework of ['Foundation', 'AppKit', 'ApplicationServices', 'CoreGraphics'])
    ObjC.import(framework);
  // The default bindings of these functions fail: JavaScript for Automation cannot convert their pointers.
  ObjC.bindFunction('AXIsProcessTrusted', ['bool', []]);
  ObjC.bindFunction('AXUIElementCreateApplication', ['id', ['int']]);
  ObjC.bindFunction('AXUIElementSetMessagingTimeout', ['int', ['id', 'float']]);
  ObjC.bindFunction('AXUIElementCopyAttributeValue', ['int', ['id', 'id', 'id*']]);
  ObjC.bindFunction('AXUIElementCopyActionNames', ['int', ['id', 'id*']]);
  ObjC.bindFunction('AXUIElementSetAttributeValue', ['int', ['id', 'id', 'id']]);
  ObjC.bindFunction('AXUIElementPerformAction', ['int', ['id', 'id']]);
  ObjC.bindFunction('CGSessionCopyCurrentDictionary', ['id', []]);
  ObjC.bindFunction('CGEventSourceSecondsSinceLastEventType', ['double', ['int', 'int']]);
  ObjC.bindFunction('CGEventCreateKeyboardEvent', ['id', ['id', 'int', 'bool']]);
  ObjC.bindFunction('CGEventPost', ['void', ['int', 'id']]);

  const write = (line: ScreenLine | DescriptionLine): void => {
    const text = $.NSString.stringWithString(`${JSON.stringify(line)}\n`);
    $.NSFileHandle.fileHandleWithStandardOutput.writeData(text.dataUsingEncoding(UTF8));
  };
  const readInput = (): unknown => {
    const data = $.NSFileHandle.fileHandleWithStandardInput.readDataToEndOfFile;
    return JSON.parse(String(ObjC.unwrap($.NSString.alloc.initWithDataEncoding(data, UTF8))));
  };
  const refuse = (reason: RefusalReason): never => {
    throw Object.assign(new Error('refused'), { reason });
  };

  // Elements

  const attribute = (element: NativeObject, name: string): unknown => {
    const value = Ref();
    const code = $.AXUIElementCopyAttributeValue(element, name, value);
    if (code === NOT_TRUSTED) refuse('not_trusted');
    return code === 0 ? value[0] : undefined;
  };
  const plainText = (value: unknown): string | undefined => {
    const plain = ObjC.unwrap(value);
    if (typeof plain === 'string') return plain;
    if (typeof plain !== 'object' || plain === null) return undefined;
    // Messages gives some texts as an attributed string.
    const text = ObjC.unwrap((plain as { string?: unknown }).string);
    return typeof text === 'string' ? text : undefined;
  };
  const textOf = (element: NativeObject, name: string): string | undefined =>
    plainText(attribute(element, name));
  const isTrue = (element: NativeObject, name: string): boolean =>
    Boolean(ObjC.unwrap(attribute(element, name)));
  const elementsOf = (element: NativeObject, name: string): NativeObject[] => {
    const array = attribute(element, name) as
      | { count: number; objectAtIndex(index: number): NativeObject }
      | undefined;
    const elements: NativeObject[] = [];
    for (let index = 0; index < (array?.count ?? 0); index++) {
      const item = array?.objectAtIndex(index);
      if (item !== undefined) elements.push(item);
    }
    return elements;
  };
  const identifierOf = (element: NativeObject): string | undefined => textOf(element, 'AXIdentifier');
  const actionsOf = (element: NativeObject): string[] => {
    const names = Ref();
    if ($.AXUIElementCopyActionNames(element, names) !== 0) return [];
    const array = names[0] as { count: number; objectAtIndex(index: number): unknown };
    return Array.from({ length: array.count }, (_, index) => plainText(array.objectAtIndex(index)) ?? '');
  };
  const isConversationList = (element: NativeObject): boolean => SKIPPED.has(identifierOf(element) ?? '');
  /** Returns the elements for which `test` holds, in order, without those inside of the list of conversations. */
  const findAll = (root: NativeObject, test: (element: NativeObject) => boolean): NativeObject[] => {
    const pending = [root];
    const found: NativeObject[] = [];
    for (let index = 0; index < pending.length && index < MAX_ELEMENTS; index++) {
      const element = pending[index] as NativeObject;
      if (isConversationList(element)) continue;
      if (test(element)) found.push(element);
      pending.push(...elementsOf(element, 'AXChildren'));
    }
    return found;
  };
  const withIdentifier = (root: NativeObject, identifier: string): NativeObject[] =>
    findAll(root, (element) => identifierOf(element) === identifier);
  const withRole = (root: NativeObject, role: string): NativeObject[] =>
    findAll(root, (element) => textOf(element, 'AXRole') === role);

  // Labels

  /** Returns a label in the language of the user. */
  const labelOf = ({ table, key }: LabelKey): string | undefined => {
    const bundle = $.NSBundle.bundleWithPath(TABLES[table]);
    if (ObjC.unwrap(bundle) === undefined) return undefined;
    const label = plainText(bundle.localizedStringForKeyValueTable(key, '', table));
    // A missing key is returned as it is.
    return label === key ? undefined : label;
  };
  /** Returns the language of the labels. */
  const language = (): string | undefined => {
    const bundle = $.NSBundle.bundleWithPath(TABLES.ChatKit);
    if (ObjC.unwrap(bundle) === undefined) return undefined;
    const languages = bundle.preferredLocalizations;
    return languages.count === 0 ? undefined : plainText(languages.objectAtIndex(0));
  };
  /** Returns the labels that have this text in a language. */
  const labelsWith = (text: string, wanted: string): LabelKey[] =>
    (['Accessibility', 'ChatKit'] as const).flatMap((table) => {
      const bundle = $.NSBundle.bundleWithPath(TABLES[table]);
      if (ObjC.unwrap(bundle) === undefined) return [];
      const path = plainText(bundle.pathForResourceOfType(table, 'loctable'));
      const languages = path === undefined ? undefined : $.NSDictionary.dictionaryWithContentsOfFile(path);
      if (languages === undefined || ObjC.unwrap(languages) === undefined) return [];
      const texts = languages.objectForKey(wanted) as NativeDictionary;
      if (ObjC.unwrap(texts) === undefined) return [];
      const keys = texts.allKeysForObject(text);
      return Array.from({ length: keys.count }, (_, index) => ({
        table,
        key: plainText(keys.objectAtIndex(index)) ?? '',
      }));
    });
  const requireLabel = (key: LabelKey): string => labelOf(key) ?? refuse('no_label');
  /**
   * Returns the labels whose English text this is, in the language of the user. The keys of some labels are not known; their
   * English texts are, and the system's own English table has both.
   */
  const labelsOfEnglish = (english: string): string[] =>
    labelsWith(english, 'en')
      .map((label) => labelOf(label) ?? '')
      .filter((label) => label !== '');
  /** Returns the keys of a text in the language of the user. Empty: it is not a label of the system. */
  const keysOf = (text: string): string[] =>
    labelsWith(text, language() ?? '').map(({ table, key }) => `${table} ${key}`);

  // State

  /** Refuses unless macOS allows the agent to control the screen and the owner's session is the one on it, unlocked. */
  const requireSession = (): void => {
    if (!$.AXIsProcessTrusted()) refuse('not_trusted');
    const session = $.CGSessionCopyCurrentDictionary();
    if (ObjC.unwrap(session) === undefined) refuse('away');
    if (!ObjC.unwrap(session.objectForKey('kCGSSessionOnConsoleKey'))) refuse('away');
    if (ObjC.unwrap(session.objectForKey('CGSSessionScreenIsLocked'))) refuse('locked');
  };
  const waitFor = <T>(seconds: number, read: () => T | undefined): T | undefined => {
    const deadline = Date.now() + seconds * 1000;
    for (;;) {
      const value = read();
      if (value !== undefined || Date.now() >= deadline) return value;
      delay(0.1);
    }
  };
  const waitForOwner = ({ idleSec, idleWaitSec }: ScreenLimits): void => {
    const HID_STATE = 1;
    const KEY_DOWN = 10;
    const isIdle = (): true | undefined =>
      $.CGEventSourceSecondsSinceLastEventType(HID_STATE, KEY_DOWN) >= idleSec ? true : undefined;
    if (waitFor(idleWaitSec, isIdle) === undefined) refuse('owner_active');
  };
  const messagesPid = (): number => {
    const running = $.NSRunningApplication.runningApplicationsWithBundleIdentifier(MESSAGES);
    return running.count === 0 ? refuse('not_running') : running.objectAtIndex(0).processIdentifier;
  };
  const windows = (): NativeObject[] => {
    const application = $.AXUIElementCreateApplication(messagesPid());
    $.AXUIElementSetMessagingTimeout(application, 3);
    return elementsOf(application, 'AXWindows');
  };
  const replyLabel = requireLabelLater({ table: 'Accessibility', key: 'group.reply.collection' });
  const transcripts = (kind: 'main' | 'reply'): NativeObject[] =>
    windows()
      .flatMap((window) => withIdentifier(window, 'TranscriptCollectionView'))
      .filter((found) => (textOf(found, 'AXDescription') === replyLabel()) === (kind === 'reply'));
  const composers = (): NativeObject[] =>
    windows().flatMap((window) => withIdentifier(window, 'messageBodyField'));
  const closeReply = (): void => {
    const [open] = transcripts('reply');
    if (open === undefined) return;
    if (composers().some((composer) => (textOf(composer, 'AXValue') ?? '') !== '')) refuse('reply_open');
    $.AXUIElementPerformAction(open, 'AXCancel');
    if (waitFor(2, () => (transcripts('reply').length === 0 ? true : undefined)) === undefined)
      refuse('reply_open');
  };
  /** Refuses a state of Messages in which another element than the intended one could be pressed. */
  const requireOrder = (): void => {
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
  };
  /** A function that reads the label at its first call, since no label is needed for a refusal. */
  function requireLabelLater(key: LabelKey): () => string {
    let label: string | undefined;
    return () => (label ??= requireLabel(key));
  }

  // Bubbles

  const isSelected = (row: NativeObject): boolean => {
    const [cell] = elementsOf(row, 'AXChildren');
    return isTrue(row, 'AXSelected') || (cell !== undefined && isTrue(cell, 'AXSelected'));
  };
  const fold = (text: string): string =>
    text
      .replace(/[\uFFFC\uFFFD]/g, '')
      .replace(/\r\n/g, '\n')
      .trim();
  const isShown = (part: ShownMessage['parts'][number], row: NativeObject | undefined): boolean => {
    if (row === undefined) return false;
    const [textArea] = withIdentifier(row, 'CKBalloonTextView');
    const shown = textArea === undefined ? undefined : fold(textOf(textArea, 'AXValue') ?? '');
    // A link is a text until its preview is there.
    if (part.isLink === true) return shown === undefined || shown === fold(part.text ?? '');
    return part.text === undefined ? shown === undefined : shown === fold(part.text);
  };
  /** Returns the row of a part of the message, if the selection is exactly this message, or why not. */
  const locate = ({ parts }: ShownMessage, part: number): { row?: NativeObject; reason: RefusalReason } => {
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
  };
  /** Whether the transcript has the message, selected or not. */
  const isVisible = ({ parts }: ShownMessage): boolean =>
    transcripts('main').some((transcript) => {
      const rows = elementsOf(transcript, 'AXChildren');
      return rows.some((_, start) => parts.every((shown, index) => isShown(shown, rows[start + index])));
    });
  const openLink = (query: string): void => {
    if (!$.NSWorkspace.sharedWorkspace.openURL($.NSURL.URLWithString(`imessage:open?${query}`)))
      refuse('link_rejected');
  };
  /**
   * Shows a message and returns the row of one of its parts. An earlier selection that looks like the message is moved away
   * first: it would be taken for the message until Messages has followed the link.
   */
  const showMessage = (message: ShownMessage, part: number, { showSec }: ScreenLimits): NativeObject => {
    if (locate(message, part).row !== undefined) {
      openLink(message.elsewhere);
      const isMoved = waitFor(showSec, () => (locate(message, part).row === undefined ? true : undefined));
      if (isMoved === undefined) refuse('differs');
    }
    openLink(`message-guid=${encodeURIComponent(message.guid)}`);
    const row = waitFor(showSec, () => locate(message, part).row);
    return row ?? refuse(locate(message, part).reason);
  };
  /** The elements of a row that can have the actions of its bubble. */
  const actionHolders = (row: NativeObject): NativeObject[] => [
    ...findAll(row, (element) => (identifierOf(element) ?? '').startsWith('CKBalloon')),
    ...elementsOf(row, 'AXChildren').slice(0, 1),
    row,
  ];
  /** Returns the action with this title. Its name is `Name:TITLE`, and further lines. */
  const findAction = (
    row: NativeObject,
    isTitle: (title: string) => boolean,
  ): { element: NativeObject; name: string } | undefined => {
    for (const element of actionHolders(row)) {
      const name = actionsOf(element).find((action) => {
        const title = /^Name:([^\n]*)/.exec(action)?.[1];
        return title !== undefined && isTitle(title);
      });
      if (name !== undefined) return { element, name };
    }
    return undefined;
  };

  // Actions

  const endings: (() => void)[] = [];
  /** Runs at the end, the newest first, also after a refusal. */
  const atEnd = (work: () => void): void => void endings.unshift(work);
  const perform = (element: NativeObject, action: string): boolean =>
    $.AXUIElementPerformAction(element, action) === 0;
  /** Does the one thing that the program is for, once. `check` refuses when the element is no longer the intended one. */
  const dispatch = (check: () => void, work: () => number): void => {
    requireSession();
    check();
    write({ step: 'dispatching' });
    const code = work();
    write(code === 0 ? { step: 'dispatched' } : { step: 'error', number: code });
  };
  const press = (element: NativeObject, action: string, check: () => void): void =>
    dispatch(check, () => $.AXUIElementPerformAction(element, action));
  /** Refuses unless key presses go to Messages. */
  const requireFront = (): void => {
    const front = $.NSWorkspace.sharedWorkspace.frontmostApplication;
    if (front.processIdentifier !== messagesPid()) refuse('not_in_front');
  };
  const pressReturn = (check: () => void): void => {
    const RETURN = 36;
    const HID_TAP = 0;
    const checkBoth = (): void => {
      check();
      requireFront();
    };
    dispatch(checkBoth, () => {
      for (const isDown of [true, false])
        $.CGEventPost(HID_TAP, $.CGEventCreateKeyboardEvent(null, RETURN, isDown));
      return 0;
    });
  };
  const setText = (element: NativeObject, text: string): boolean =>
    $.AXUIElementSetAttributeValue(element, 'AXValue', text) === 0;
  const setFocused = (element: NativeObject): boolean =>
    $.AXUIElementSetAttributeValue(element, 'AXFocused', true) === 0;
  const setNumber = (element: NativeObject, value: number): boolean =>
    $.AXUIElementSetAttributeValue(element, 'AXValue', value) === 0;

  /** Runs the program: checks that it may, brings the previous application back to the front, and reports a refusal. */
  const run = (work: (input: never) => void): void => {
    const input = readInput() as { readonly limits: ScreenLimits };
    try {
      requireSession();
      messagesPid();
      waitForOwner(input.limits);
      const front = $.NSWorkspace.sharedWorkspace.frontmostApplication;
      atEnd(() => {
        const IGNORING_OTHER_APPS = 2;
        const current = $.NSWorkspace.sharedWorkspace.frontmostApplication;
        // Only if Messages came to the front because of the program.
        if (
          current.processIdentifier === messagesPid() &&
          front.processIdentifier !== current.processIdentifier
        )
          front.activateWithOptions(IGNORING_OTHER_APPS);
      });
      requireOrder();
      work(input as never);
    } catch (error) {
      const { reason } = error as { reason?: RefusalReason };
      write(reason === undefined ? { step: 'error', number: 0 } : { step: 'refused', reason });
    }
    for (const end of endings) {
      try {
        end();
      } catch {
        // Messages is gone, or the session is: there is nothing to put back.
      }
    }
  };

  return {
    run,
    write,
    language,
    keysOf,
    actionsOf,
    isSelected,
    isConversationList,
    refuse,
    waitFor,
    atEnd,
    windows,
    transcripts,
    composers,
    closeReply,
    withIdentifier,
    withRole,
    findAll,
    elementsOf,
    identifierOf,
    textOf,
    isTrue,
    attribute,
    labelOf,
    requireLabel,
    labelsOfEnglish,
    openLink,
    locate,
    showMessage,
    findAction,
    perform,
    press,
    pressReturn,
    requireFront,
    setText,
    setNumber,
    setFocused,
    isVisible,
  };
}
