import type { MessagesApp } from '@footbridge/simulator/messages-app';
import type { ChatMembers } from '@footbridge/simulator/messages-store';
import { Conversations } from './conversation.ts';
import type { Bubble, Tapback } from './conversation.ts';
import { findElement, titleOfAction } from './element.ts';
import type { AxElement } from './element.ts';
import { EFFECT_IDS, labelsOf } from './labels.ts';
import type { Labels, LabelTable, Language } from './labels.ts';
import { applicationTree, CLASSIC } from './window-tree.ts';
import type { ScreenView } from './window-tree.ts';

/** The state of the Mac, and how Messages behaves. */
export interface ScreenSettings {
  /** The language of Messages. */
  readonly language: Language;
  /** The language of the tables of the system. Default: the same. */
  readonly systemLanguage: Language | undefined;
  /** Keys that the tables of the system do not have, as in a later version of macOS. */
  readonly absentLabels: readonly string[];
  /** Identifiers of elements that have another one, as in a later version of macOS. */
  readonly renamedIdentifiers: readonly string[];
  readonly isTrusted: boolean;
  readonly isLocked: boolean;
  readonly isOnConsole: boolean;
  readonly isTyping: boolean;
  readonly isRunning: boolean;
  readonly hasSheet: boolean;
  readonly hasSecondWindow: boolean;
  readonly acceptsLinks: boolean;
  /** Until a link has its effect. */
  readonly navigationMs: number;
  /** What a link to a message selects. */
  readonly selects: 'target' | 'all_parts' | 'nothing' | 'wrong' | 'two';
  /** A link to a conversation without a message leaves the selection as it is. */
  readonly keepsSelection: boolean;
  readonly opensPicker: boolean;
  readonly opensThread: boolean;
  readonly closesThread: boolean;
  /** The list of effects stays closed this many times. */
  readonly effectsStayClosed: number;
  readonly acceptsRecipients: boolean;
  readonly press: 'works' | 'has_no_effect' | 'hits_another_bubble';
  /** The Accessibility error of a press on a Tapback or on the send button. With `press: 'works'` the press takes effect nevertheless. */
  readonly pressError: number | undefined;
  /** Until the row of a press or a send is written. */
  readonly rowMs: number;
  /** The form in which a text is sent. */
  readonly sends: 'as_requested' | 'without_thread' | 'without_effect' | 'without_row';
  readonly sendError: number | undefined;
  readonly recentEmoji: readonly string[];
  readonly allEmoji: readonly string[];
  /** Where the list of all emoji opens: 0 is its top, 1 its end. */
  readonly emojiScroll: number;
  /** Until the list has followed its scroll bar. */
  readonly scrollMs: number;
  readonly frontApplication: number;
  readonly clipboard: string;
}

/** Changes settings once, at an event of a program. */
export interface ScreenFault {
  readonly when: 'opened' | 'shown' | 'picker' | 'composed';
  readonly change: Partial<ScreenSettings>;
}

export interface Session {
  readonly isOnConsole: boolean;
  readonly isLocked: boolean;
}

/** Every press of a Tapback and every text that was sent, in order. */
export interface ScreenActions {
  readonly presses: readonly {
    readonly guid: string;
    readonly part: number;
    readonly code: number;
    readonly emoji?: string;
  }[];
  readonly sends: readonly {
    readonly members: readonly string[];
    readonly text: string;
    readonly replyTo?: string;
    readonly effect?: string;
  }[];
  readonly frontApplication: number;
  readonly clipboard: string;
  readonly draft: string;
  readonly hasOpenPicker: boolean;
}

export const MESSAGES_PID = 501;
export const FINDER_PID = 301;

const OK = 0;
const INVALID_ELEMENT = -25202;
const ATTRIBUTE_UNSUPPORTED = -25205;
const ACTION_UNSUPPORTED = -25206;
const RETURN_KEY = 36;
const EMOJI_CODE = 2006;
const EMOJI =
  '😀 😃 😄 😁 😆 😅 😂 🙂 🙃 😉 😊 😇 😍 😘 😗 😚 😋 😛 😜 🤪 😎 🤩 🥳 😏 😒 😞 😔 😟 😕 🙁 😣 😖 😫 😩 😢 😭 😤 😠 😡 🤬 🤯 😳 😱 😨 😰 😥 😓 🤗 🤔 🤭 🤫 🔥 🎉 🚀 🐙 🍕 ⭐ 🌈 💡'.split(
    ' ',
  );

const DEFAULTS: ScreenSettings = {
  language: 'en',
  systemLanguage: undefined,
  absentLabels: [],
  renamedIdentifiers: [],
  isTrusted: true,
  isLocked: false,
  isOnConsole: true,
  isTyping: false,
  isRunning: true,
  hasSheet: false,
  hasSecondWindow: false,
  acceptsLinks: true,
  navigationMs: 50,
  selects: 'target',
  keepsSelection: false,
  opensPicker: true,
  opensThread: true,
  closesThread: true,
  effectsStayClosed: 0,
  acceptsRecipients: true,
  press: 'works',
  pressError: undefined,
  rowMs: 0,
  sends: 'as_requested',
  sendError: undefined,
  recentEmoji: ['🔥', '🎉'],
  allEmoji: EMOJI,
  emojiScroll: 0,
  scrollMs: 0,
  frontApplication: FINDER_PID,
  clipboard: '',
};

interface Place {
  readonly chat: ChatMembers | undefined;
  readonly selected: readonly Bubble[];
  readonly people?: readonly string[];
}

interface EmojiList {
  readonly bubble: Bubble;
  readonly scroll: number;
  readonly next?: { readonly scroll: number; readonly at: number };
}

/** The screen of a Mac with Messages on it, as Accessibility sees and changes it. Presses write rows into the store. */
export class Screen {
  readonly #app: MessagesApp;
  readonly #conversations: Conversations;
  readonly #now: () => number;
  #settings: ScreenSettings = DEFAULTS;
  #faults: ScreenFault[] = [];
  #place: Place = { chat: undefined, selected: [] };
  #next: (Place & { readonly at: number }) | undefined;
  /** A link was followed, and no program has seen the result. */
  #isUnseen = false;
  #picker: Bubble | undefined;
  #emojiList: EmojiList | undefined;
  #reply: Bubble | undefined;
  #effect: ScreenView['effect'] = 'none';
  #composer = { text: '', isFocused: false };
  readonly #presses: ScreenActions['presses'][number][] = [];
  readonly #sends: ScreenActions['sends'][number][] = [];

  constructor(app: MessagesApp, now: () => number = Date.now) {
    this.#app = app;
    this.#conversations = new Conversations(app);
    this.#now = now;
  }

  /** Changes settings and replaces the faults. */
  configure({
    faults,
    ...settings
  }: Partial<ScreenSettings> & { readonly faults?: readonly ScreenFault[] }): void {
    this.#settings = { ...this.#settings, ...settings };
    if (faults !== undefined) this.#faults = [...faults];
  }

  /** A person leaves something open: a text in the field, or a thread. */
  leave({ draft, thread }: { readonly draft?: string; readonly thread?: string }): void {
    if (draft !== undefined) this.#composer = { text: draft, isFocused: false };
    if (thread === undefined) return;
    const chat = this.#conversations.chatOf(thread);
    this.#place = { chat, selected: [] };
    this.#reply = this.#bubbles().find(({ guid }) => guid === thread);
  }

  actions(): ScreenActions {
    return {
      presses: this.#presses,
      sends: this.#sends,
      frontApplication: this.#settings.frontApplication,
      clipboard: this.#settings.clipboard,
      draft: this.#composer.text,
      hasOpenPicker: this.#picker !== undefined || this.#emojiList !== undefined,
    };
  }

  /** Forgets the recorded presses and sends. */
  clear(): void {
    this.#presses.length = 0;
    this.#sends.length = 0;
  }

  isTrusted(): boolean {
    return this.#settings.isTrusted;
  }

  session(): Session {
    const { isOnConsole, isLocked } = this.#settings;
    return { isOnConsole, isLocked };
  }

  idleSeconds(): number {
    return this.#settings.isTyping ? 0 : 60;
  }

  runningPids(): number[] {
    return this.#settings.isRunning ? [MESSAGES_PID] : [];
  }

  /** `open -a Messages`. */
  start(): void {
    this.configure({ isRunning: true });
  }

  frontApplication(): number {
    return this.#settings.frontApplication;
  }

  activate({ pid }: { readonly pid: number }): void {
    this.configure({ frontApplication: pid });
  }

  /** The language of the tables of the system. */
  systemLanguage(): Language {
    return this.#settings.systemLanguage ?? this.#settings.language;
  }

  labels({ table, language }: { readonly table: LabelTable; readonly language?: Language }): Labels {
    const { absentLabels } = this.#settings;
    const labels = labelsOf(table, language ?? this.systemLanguage(), this.#app.store.macos);
    return Object.fromEntries(Object.entries(labels).filter(([key]) => !absentLabels.includes(key)));
  }

  open({ url }: { readonly url: string }): boolean {
    const link = /^imessage:open\?(message-guid|address|addresses|groupid)=([^&]+)$/.exec(url);
    if (link === null || !this.#settings.acceptsLinks) return false;
    const [, name, value = ''] = link;
    const decoded = decodeURIComponent(value);
    const place = name === 'message-guid' ? this.#placeOf(decoded) : this.#conversation(value);
    this.#next = { ...place, at: this.#now() + this.#settings.navigationMs };
    this.configure({ frontApplication: MESSAGES_PID });
    this.#happened('opened');
    return true;
  }

  /** The elements of Messages now. */
  tree(): AxElement {
    this.#follow();
    const tree = renamed(applicationTree(this.#view()), this.#settings.renamedIdentifiers);
    if (this.#isUnseen && this.#next === undefined) {
      this.#isUnseen = false;
      this.#happened('shown');
    }
    return tree;
  }

  /** Returns an Accessibility error, or 0. */
  perform({ id, action }: { readonly id: string; readonly action: string }): number {
    this.#follow();
    const found = findElement(applicationTree(this.#view()), id);
    if (found === undefined) return INVALID_ELEMENT;
    if (!found.actions.includes(action)) return ACTION_UNSUPPORTED;
    return this.#perform(id, action);
  }

  /** Sets `AXValue` or `AXFocused`. Returns an Accessibility error, or 0. */
  set({ id, name, value }: { readonly id: string; readonly name: string; readonly value: unknown }): number {
    if (findElement(applicationTree(this.#view()), id) === undefined) return INVALID_ELEMENT;
    if (id === 'composer' && name === 'AXValue') {
      this.#composer = { text: String(value), isFocused: this.#composer.isFocused };
      this.#happened('composed');
      return OK;
    }
    if (id === 'composer' && name === 'AXFocused') {
      this.#composer = { text: this.#composer.text, isFocused: value === true };
      return OK;
    }
    if (id === 'emoji-scroll' && name === 'AXValue' && this.#emojiList !== undefined) {
      const next = { scroll: Number(value), at: this.#now() + this.#settings.scrollMs };
      this.#emojiList = { ...this.#emojiList, next };
      return OK;
    }
    return ATTRIBUTE_UNSUPPORTED;
  }

  /** A key that goes to the front application. */
  key({ code, isDown }: { readonly code: number; readonly isDown: boolean }): void {
    const isForMessages = this.#settings.frontApplication === MESSAGES_PID && this.#composer.isFocused;
    if (isForMessages && isDown && code === RETURN_KEY) this.#send();
  }

  #placeOf(guid: string): Place {
    const chat = this.#conversations.chatOf(guid);
    const bubbles = chat === undefined ? [] : this.#conversations.bubblesOf(chat);
    const own = bubbles.filter((bubble) => bubble.guid === guid);
    const others = bubbles.filter((bubble) => bubble.guid !== guid);
    const selections = {
      target: own.slice(0, 1),
      all_parts: own,
      nothing: [],
      wrong: others.slice(0, 1),
      two: [...own.slice(0, 1), ...others.slice(-1)],
    };
    return { chat, selected: selections[this.#settings.selects] };
  }

  #conversation(list: string): Place {
    const people = list.split(',').map((person) => decodeURIComponent(person));
    const chat = this.#conversations.find(people);
    if (chat !== undefined)
      return { chat, selected: this.#settings.keepsSelection ? this.#place.selected : [] };
    return {
      chat: undefined,
      selected: [],
      people: this.#settings.acceptsRecipients ? people : people.slice(1),
    };
  }

  #follow(): void {
    const { bubble, next } = this.#emojiList ?? {};
    if (bubble !== undefined && next !== undefined && this.#now() >= next.at)
      this.#emojiList = { bubble, scroll: next.scroll };
    if (this.#next === undefined || this.#now() < this.#next.at) return;
    this.#place = this.#next;
    this.#next = undefined;
    this.#isUnseen = true;
    this.#picker = undefined;
    this.#emojiList = undefined;
  }

  #bubbles(): Bubble[] {
    return this.#place.chat === undefined ? [] : this.#conversations.bubblesOf(this.#place.chat);
  }

  #view(): ScreenView {
    const { language, hasSheet, hasSecondWindow, recentEmoji, allEmoji } = this.#settings;
    return {
      macos: this.#app.store.macos,
      label: (table, key) => labelsOf(table, language, this.#app.store.macos)[key] ?? key,
      bubbles: this.#bubbles(),
      selected: this.#place.selected,
      ownTapback: (bubble) => this.#conversations.ownTapback(bubble),
      recents: recentEmoji,
      allEmoji,
      picker: this.#picker,
      emojiList: this.#emojiList,
      reply: this.#reply,
      people: this.#place.people,
      composer: this.#composer,
      effect: this.#effect,
      hasSheet,
      hasSecondWindow,
    };
  }

  #happened(when: ScreenFault['when']): void {
    const index = this.#faults.findIndex((fault) => fault.when === when);
    const [fault] = index < 0 ? [] : this.#faults.splice(index, 1);
    if (fault !== undefined) this.configure(fault.change);
  }

  #perform(id: string, action: string): number {
    const title = titleOfAction(action);
    if (title !== undefined) return this.#bubbleAction(id, title);
    const [kind = '', name = ''] = id.split('/');
    if (action === 'AXCancel') return this.#cancel(kind);
    if (kind === 'tapback') return this.#press(this.#picker, { code: Number(name) });
    if (kind === 'emoji') return this.#press(this.#emojiList?.bubble, { code: EMOJI_CODE, emoji: name });
    if (kind === 'more-emoji' && this.#picker !== undefined) this.#openEmojiList(this.#picker);
    if (kind === 'add') this.#effect = 'menu';
    if (id === 'menu/effects') this.#openEffects();
    if (kind === 'effect') this.#effect = { name };
    if (kind === 'close') this.#effect = 'none';
    if (kind !== 'send') return OK;
    this.#send();
    return this.#settings.pressError ?? OK;
  }

  #openEffects(): void {
    const { effectsStayClosed } = this.#settings;
    if (effectsStayClosed > 0) this.configure({ effectsStayClosed: effectsStayClosed - 1 });
    this.#effect = effectsStayClosed > 0 ? 'none' : 'list';
  }

  #openEmojiList(bubble: Bubble): void {
    const { opensPicker, emojiScroll } = this.#settings;
    this.#picker = undefined;
    if (opensPicker) this.#emojiList = { bubble, scroll: emojiScroll };
  }

  #bubbleAction(id: string, title: string): number {
    const bubble = this.#bubbles().find(({ guid, part }) => id.endsWith(`/${guid}/${part}`));
    if (bubble === undefined) return INVALID_ELEMENT;
    const { language, opensPicker, opensThread, recentEmoji } = this.#settings;
    const { macos } = this.#app.store;
    const label = (table: LabelTable, key: string) => labelsOf(table, language, macos)[key];
    const classic = CLASSIC.find(({ key }) => label('Accessibility', key) === title);
    if (classic !== undefined) return this.#press(bubble, { code: classic.code });
    if (recentEmoji.includes(title)) return this.#press(bubble, { code: EMOJI_CODE, emoji: title });
    if (title === label('Accessibility', 'balloon.message.reply') && opensThread) this.#reply = bubble;
    if (title === label('ChatKit', 'ACCESSIBILITY_ADD_EMOJI_TAPBACK')) this.#openEmojiList(bubble);
    if (title === label('Accessibility', 'acknowledgments.action.title') && opensPicker) {
      this.#picker = bubble;
      this.#happened('picker');
    }
    return OK;
  }

  #cancel(kind: string): number {
    if (kind === 'reply-transcript' && this.#settings.closesThread) this.#reply = undefined;
    if (kind === 'picker' || kind === 'tapback') this.#picker = undefined;
    if (kind === 'emoji-list') this.#emojiList = undefined;
    return OK;
  }

  #press(bubble: Bubble | undefined, tapback: Tapback): number {
    this.#picker = undefined;
    this.#emojiList = undefined;
    if (bubble === undefined) return INVALID_ELEMENT;
    const { press, pressError = OK, rowMs } = this.#settings;
    this.#presses.push({ guid: bubble.guid, part: bubble.part, ...tapback });
    const another = this.#bubbles().find(({ guid }) => guid !== bubble.guid);
    const hit = press === 'hits_another_bubble' ? another : bubble;
    if (press !== 'has_no_effect' && hit !== undefined) this.#conversations.toggle(hit, tapback, rowMs);
    return pressError;
  }

  #send(): void {
    const { text } = this.#composer;
    const chat = this.#place.chat ?? { members: this.#place.people ?? [], service: 'iMessage' };
    const { sends, sendError, rowMs } = this.#settings;
    const replyTo = sends === 'without_thread' ? undefined : this.#reply?.guid;
    const name =
      typeof this.#effect === 'object' && sends !== 'without_effect' ? this.#effect.name : undefined;
    const effect = name === undefined ? undefined : EFFECT_IDS[name];
    this.#sends.push({
      members: chat.members,
      text,
      ...(replyTo !== undefined && { replyTo }),
      ...(effect !== undefined && { effect }),
    });
    this.#composer = { text: '', isFocused: true };
    this.#effect = 'none';
    if (sends === 'without_row') return;
    this.#conversations.send(
      {
        from: 'me',
        chat,
        text,
        columns: {
          ...(replyTo !== undefined && { thread_originator_guid: replyTo, thread_originator_part: '0:0:1' }),
          ...(effect !== undefined && { expressive_send_style_id: effect }),
        },
        ...(sendError !== undefined && { error: sendError }),
      },
      rowMs,
    );
  }
}

function renamed(element: AxElement, identifiers: readonly string[]): AxElement {
  if (identifiers.length === 0) return element;
  const identifier = element.attributes['AXIdentifier'];
  const isRenamed = typeof identifier === 'string' && identifiers.includes(identifier);
  return {
    ...element,
    attributes: { ...element.attributes, ...(isRenamed && { AXIdentifier: `${identifier}V2` }) },
    children: element.children.map((child) => renamed(child, identifiers)),
  };
}
