import type { Bubble, Tapback } from './conversation.ts';
import { customAction, element } from './element.ts';
import type { AxElement } from './element.ts';
import { EFFECT_IDS } from './labels.ts';
import type { LabelTable } from './labels.ts';

/** The six classic Tapbacks, in the order of the picker. */
export const CLASSIC = [
  { code: 2000, identifier: 'heart', key: 'acknowledgment.type.heart' },
  { code: 2001, identifier: 'thumbsUp', key: 'acknowledgment.type.thumbs.up' },
  { code: 2002, identifier: 'thumbsDown', key: 'acknowledgment.type.thumbs.down' },
  { code: 2003, identifier: 'ha', key: 'acknowledgment.type.ha' },
  { code: 2004, identifier: 'exclamation', key: 'acknowledgment.type.exclamation' },
  { code: 2005, identifier: 'questionMark', key: 'acknowledgment.type.question.mark' },
] as const;

/** The name of every person in Contacts. */
export const CONTACT_NAME = 'Kanarie Contact';

const VISIBLE_EMOJI = 12;

/** What Messages shows. */
export interface ScreenView {
  readonly macos: number;
  label(table: LabelTable, key: string): string;
  readonly bubbles: readonly Bubble[];
  readonly selected: readonly Bubble[];
  ownTapback(bubble: Bubble): Tapback | undefined;
  readonly recents: readonly string[];
  readonly allEmoji: readonly string[];
  readonly picker: Bubble | undefined;
  readonly emojiList: { readonly scroll: number } | undefined;
  readonly reply: Bubble | undefined;
  /** The recipients of a conversation that has no message yet. */
  readonly people: readonly string[] | undefined;
  readonly composer: { readonly text: string; readonly isFocused: boolean };
  readonly effect: 'none' | 'menu' | 'list' | { readonly name: string };
  readonly hasSheet: boolean;
  readonly hasSecondWindow: boolean;
}

/** The windows of Messages, in the shape of a macOS version. The shapes are described, not recorded: see docs/agent.md. */
export function applicationTree(view: ScreenView): AxElement {
  const windows = [conversationWindow(view)];
  if (view.hasSecondWindow) windows.push(conversationWindow({ ...view, selected: [] }, 'second/'));
  if (view.emojiList !== undefined && view.macos >= 26)
    windows.push(
      element('emoji-list', 'AXWindow', { actions: ['AXCancel'], children: emojiList(view, view.emojiList) }),
    );
  return element('application', 'AXApplication', { children: windows });
}

function conversationWindow(view: ScreenView, prefix = ''): AxElement {
  const list = element(`${prefix}conversations`, 'AXGroup', {
    identifier: view.macos >= 15 ? 'CKConversationListCollectionView' : 'ConversationList',
    // Its rows look like bubbles.
    children: [
      element(`${prefix}conversation/0`, 'AXTextArea', {
        identifier: 'CKBalloonTextView',
        attributes: { AXValue: 'Hi', AXSelected: true },
      }),
    ],
  });
  const content = element(`${prefix}content`, 'AXGroup', {
    attributes: { AXSubrole: 'iOSContentGroup' },
    children: [list, element(`${prefix}pane`, 'AXGroup', { children: pane(view, prefix) })],
  });
  const sheet = view.hasSheet ? [element(`${prefix}sheet`, 'AXSheet')] : [];
  return element(`${prefix}window`, 'AXWindow', {
    identifier: 'SceneWindow',
    attributes: { AXSubrole: 'AXStandardWindow' },
    children: [content, ...sheet],
  });
}

function pane(view: ScreenView, prefix: string): AxElement[] {
  if (view.picker !== undefined) return [picker(view, view.picker)];
  if (typeof view.effect === 'object') return effectPreview(view, view.effect.name);
  const chips = (view.people ?? []).map((person) =>
    element(`${prefix}person/${person}`, 'AXPopUpButton', {
      attributes: { AXDescription: `${CONTACT_NAME}, ${person}` },
    }),
  );
  const popover =
    view.emojiList !== undefined && view.macos < 26
      ? [
          element('emoji-list', 'AXPopover', {
            actions: ['AXCancel'],
            children: emojiList(view, view.emojiList),
          }),
        ]
      : [];
  return [...chips, ...popover, ...transcript(view, prefix), entry(view, prefix)];
}

function transcript(view: ScreenView, prefix: string): AxElement[] {
  if (view.people !== undefined) return [];
  const isReply = view.reply !== undefined;
  const bubbles = view.reply === undefined ? view.bubbles : [view.reply];
  const rows = bubbles.map((bubble) => row(view, bubble, prefix));
  return [
    element(`${prefix}${isReply ? 'reply-transcript' : 'transcript'}`, 'AXGroup', {
      identifier: 'TranscriptCollectionView',
      attributes: {
        AXDescription: isReply ? view.label('Accessibility', 'group.reply.collection') : 'Messages',
        AXLinkedUIElements: isReply ? { linked: ['composer'] } : undefined,
      },
      actions: isReply ? ['AXCancel'] : [],
      // A transcript also has rows without a bubble.
      children: [
        element(`${prefix}date`, 'AXGroup', { children: [element(`${prefix}date/text`, 'AXStaticText')] }),
        ...rows,
      ],
    }),
  ];
}

function row(view: ScreenView, bubble: Bubble, prefix: string): AxElement {
  const id = `${prefix}${bubble.guid}/${bubble.part}`;
  const isSelected = view.selected.some(({ guid, part }) => guid === bubble.guid && part === bubble.part);
  const actions = bubbleActions(view, bubble);
  // Where the selection and the actions are differs by version.
  const [onRow, onCell] = view.macos >= 26 ? [isSelected, false] : [undefined, isSelected];
  const onBalloon = view.macos === 15 && bubble.kind === 'text';
  const balloon =
    bubble.kind === 'text'
      ? element(`balloon/${id}`, 'AXTextArea', {
          identifier: 'CKBalloonTextView',
          attributes: { AXValue: view.macos >= 26 ? { attributed: bubble.text } : bubble.text },
          actions: onBalloon ? actions : ['AXShowMenu'],
        })
      : bubble.kind === 'photo'
        ? element(`balloon/${id}`, 'AXImage', { identifier: 'CKBalloonImageView' })
        : element(`balloon/${id}`, 'AXLink', { attributes: { AXDescription: 'Link' } });
  const cell = element(`cell/${id}`, 'AXGroup', {
    attributes: { AXSelected: onCell },
    actions: onBalloon ? ['AXShowMenu'] : ['AXShowMenu', ...actions],
    children: [balloon],
  });
  return element(`row/${id}`, 'AXGroup', { attributes: { AXSelected: onRow }, children: [cell] });
}

function bubbleActions(view: ScreenView, bubble: Bubble): string[] {
  const titles = CLASSIC.map(({ key }) => view.label('Accessibility', key));
  const react = customAction(view.label('Accessibility', 'acknowledgments.action.title'));
  const reply = customAction(view.label('Accessibility', 'balloon.message.reply'));
  const isDirect = view.macos >= 26 || (view.macos === 15 && bubble.kind !== 'photo');
  if (!isDirect) return [reply, react];
  return [
    reply,
    // The title of one action can begin with the title of another.
    ...titles.map((title) => customAction(`${title} …`)),
    ...titles.map(customAction),
    ...view.recents.map(customAction),
    customAction(view.label('ChatKit', 'ACCESSIBILITY_ADD_EMOJI_TAPBACK')),
    react,
  ];
}

function picker(view: ScreenView, bubble: Bubble): AxElement {
  const own = view.ownTapback(bubble);
  const buttons = CLASSIC.map(({ code, identifier, key }) =>
    element(`tapback/${code}`, 'AXButton', {
      identifier: view.macos >= 15 ? identifier : undefined,
      attributes: {
        AXDescription: view.macos === 13 ? undefined : view.label('Accessibility', key),
        AXSelected: view.macos === 13 ? undefined : own?.code === code,
      },
      actions: ['AXPress', 'AXCancel'],
    }),
  );
  if (view.macos < 15) return element('picker', 'AXGroup', { children: buttons });
  const more = element('more-emoji', 'AXButton', {
    attributes: { AXDescription: view.label('Accessibility', 'add.custom.emoji.reaction') },
    actions: ['AXPress'],
  });
  const collection = element('picker', 'AXGroup', {
    identifier: 'TapbackPickerCollectionView',
    actions: ['AXCancel'],
    children: [
      ...buttons,
      element('picker/sticker', 'AXButton', { identifier: 'Sticker', actions: ['AXPress'] }),
    ],
  });
  return element('picker/container', 'AXGroup', { children: [collection, more] });
}

function emojiList({ allEmoji }: ScreenView, { scroll }: { readonly scroll: number }): AxElement[] {
  const first = Math.round(scroll * Math.max(0, allEmoji.length - VISIBLE_EMOJI));
  const visible = allEmoji.slice(first, first + VISIBLE_EMOJI);
  return [
    element('emoji-search', 'AXTextField', { identifier: 'characterPickerSearchField' }),
    ...visible.map((emoji) =>
      element(`emoji/${emoji}`, 'AXButton', { attributes: { AXDescription: emoji }, actions: ['AXPress'] }),
    ),
    element('emoji-scroll', 'AXScrollBar', { attributes: { AXValue: scroll } }),
  ];
}

function entry(view: ScreenView, prefix: string): AxElement {
  const { text, isFocused } = view.composer;
  const composer = element(`${prefix}composer`, 'AXTextArea', {
    identifier: 'messageBodyField',
    attributes: {
      AXValue: view.macos >= 26 ? { attributed: text } : text,
      AXPlaceholderValue: view.label('ChatKit', 'MADRID'),
      AXFocused: isFocused,
    },
  });
  const add = element(`${prefix}add`, 'AXButton', {
    attributes: { AXDescription: view.label('Accessibility', 'entry.add') },
    actions: ['AXPress'],
  });
  const send = element(`${prefix}send`, 'AXButton', { identifier: 'sendButton', actions: ['AXPress'] });
  const menu = element('menu', 'AXMenu', {
    children: [
      element('menu/photos', 'AXMenuItem', { attributes: { AXTitle: 'Photos' }, actions: ['AXPress'] }),
      element('menu/effects', 'AXMenuItem', {
        attributes: { AXTitle: view.label('ChatKit', 'SEND_MENU_EFFECTS') },
        actions: ['AXPress'],
      }),
    ],
  });
  const effects = Object.keys(EFFECT_IDS).map((name, index) =>
    element(`effect/${name}`, 'AXButton', {
      attributes: {
        AXDescription: view
          .label('Accessibility', 'effect.item')
          .replace('%@', view.label('ChatKit', `EFFECT_${index}`)),
      },
      actions: ['AXPress'],
    }),
  );
  return element(`${prefix}entry`, 'AXGroup', {
    identifier: 'MessageEntryView',
    children: [
      add,
      composer,
      ...(view.macos >= 26 && text !== '' ? [send] : []),
      ...(view.effect === 'menu' ? [menu] : []),
      ...(view.effect === 'list' ? effects : []),
    ],
  });
}

/** The preview of an effect hides the transcript. */
function effectPreview(view: ScreenView, name: string): AxElement[] {
  const { text } = view.composer;
  const shown = view.label('ChatKit', `EFFECT_${Object.keys(EFFECT_IDS).indexOf(name)}`);
  return [
    element('preview', 'AXTextArea', {
      identifier: 'CKBalloonTextView',
      attributes: { AXValue: view.macos >= 26 ? { attributed: text } : text },
    }),
    element('send', 'AXButton', {
      identifier: 'sendButton',
      attributes: {
        AXDescription: view.label('Accessibility', 'impact.effect.send').replace('%@', shown.toLowerCase()),
      },
      actions: ['AXPress'],
    }),
    element('close', 'AXButton', { identifier: 'closeButton', actions: ['AXPress'] }),
  ];
}
