import { useRef } from 'preact/hooks';

import { Icon, TapbackIcon, TAPBACK_NAMES } from '@footbridge/ui/icons';
import { Attachment } from './attachment.tsx';
import type { ChatItem, DrawnReaction, Tapback } from './chat-item.ts';
import { OPENED } from '../time.ts';
import { effectNamed } from './effects.ts';
import { RawText } from './raw-text.tsx';
import { TapbackBar } from './tapback-bar.tsx';
import { VoicePlayer } from './voice-player.tsx';

interface Props {
  readonly item: ChatItem;
  readonly author: string | undefined;
  readonly isRaw: boolean;
  /** Whether it is the last of consecutive messages by the same author. */
  readonly isLast: boolean;
  /** Whether it is the tab stop of the feed. */
  readonly isStop: boolean;
  readonly isOpen: boolean;
  readonly onFocus: () => void;
  readonly onOpen: () => void;
  readonly onClose: () => void;
  readonly onTapback: (tapback: Tapback) => void;
  readonly onReplay: (() => void) | undefined;
}

const LONG_PRESS_MS = 450;

export function Bubble(props: Props) {
  const { item, author, isRaw, isStop, isOpen, onOpen, onClose } = props;
  const press = useRef<number>(undefined);
  const cancelPress = () => clearTimeout(press.current);
  const canReact = item.target !== undefined;
  const effect = effectNamed(item.effect);
  const classes = [
    'bubble-row',
    item.isMine ? 'is-mine' : 'is-theirs',
    item.isSms === true ? 'is-sms' : '',
    props.isLast ? 'is-last' : '',
    item.at > OPENED ? 'is-new' : '',
    item.reactions.length > 0 && !isRaw ? 'has-reactions' : '',
  ];

  return (
    <article
      class={classes.join(' ')}
      data-id={item.id}
      tabIndex={isStop ? 0 : -1}
      aria-label={accessibleLabel(item)}
      {...(canReact && { 'aria-keyshortcuts': 'T' })}
      onFocusIn={props.onFocus}
      onPointerDown={({ button, target }) => {
        if (!canReact || button !== 0 || (target instanceof Element && target.closest('button'))) return;
        press.current = window.setTimeout(onOpen, LONG_PRESS_MS);
      }}
      onPointerUp={cancelPress}
      onPointerLeave={cancelPress}
      onPointerCancel={cancelPress}
      onContextMenu={(event) => {
        if (!canReact) return;
        event.preventDefault();
        onOpen();
      }}
    >
      {author !== undefined && (
        <span class="bubble-author">
          <bdi>{author}</bdi>
        </span>
      )}
      <div class="bubble-line">
        <div class="bubble-holder">
          {isRaw && item.raw !== undefined ? (
            <div class="bubble bubble-raw">
              <RawText text={withoutBytes(item.raw)} />
            </div>
          ) : (
            <Content item={item} effectClass={effect?.kind === 'bubble' ? `effect-${effect.name}` : ''} />
          )}
          {!isRaw && item.reactions.length > 0 && (
            <ul class="reactions" aria-label="Reactions">
              {item.reactions.map((reaction) => (
                <li key={reaction.by} class={reaction.isOwn ? 'reaction is-own' : 'reaction'}>
                  <Reaction reaction={reaction} />
                </li>
              ))}
            </ul>
          )}
          {isOpen && <TapbackBar item={item} onChoose={props.onTapback} onClose={onClose} />}
        </div>
        {canReact && (
          <button
            type="button"
            class="quiet-button react-button"
            tabIndex={isStop ? 0 : -1}
            aria-label="React"
            aria-expanded={isOpen}
            title="React (T)"
            onClick={isOpen ? onClose : onOpen}
          >
            <Icon name="smile" />
          </button>
        )}
      </div>
      {effect !== undefined && !isRaw && (
        <span class="bubble-note">
          Sent with {effect.title}
          {props.onReplay !== undefined && effect.kind === 'screen' && (
            <button type="button" class="replay-button" tabIndex={isStop ? 0 : -1} onClick={props.onReplay}>
              <Icon name="replay" /> Replay
            </button>
          )}
        </span>
      )}
      {item.below !== undefined && <div class="bubble-below">{item.below}</div>}
    </article>
  );
}

function Content({ item, effectClass }: { item: ChatItem; effectClass: string }) {
  const pictures = item.files.filter(({ mime }) => mime.startsWith('image/'));
  const [sound] = item.files;
  if (item.isSticker === true) {
    return (
      <div class="sticker">
        {pictures.map((file) => (
          <Attachment key={file.name} file={file} />
        ))}
        {pictures.length === 0 && <span class="bubble">Sticker</span>}
      </div>
    );
  }
  return (
    <div class={`bubble ${effectClass}`}>
      {item.replyTo !== undefined && (
        <span class="bubble-quote">
          <bdi>{item.replyTo}</bdi>
        </span>
      )}
      {item.voice !== undefined ? (
        <VoicePlayer url={sound?.url} durationMs={item.voice.durationMs} seed={item.id} />
      ) : (
        item.files.map((file) => <Attachment key={file.name + (file.url ?? '')} file={file} />)
      )}
      {item.text !== '' && (
        <span class="bubble-text">
          <bdi>{shortened(item.text)}</bdi>
        </span>
      )}
    </div>
  );
}

function Reaction({ reaction: { by, type, emoji, image } }: { reaction: DrawnReaction }) {
  const label = type !== undefined ? TAPBACK_NAMES[type] : (emoji ?? 'Sticker');
  return (
    <span title={`${label} from ${by}`}>
      {type !== undefined && <TapbackIcon type={type} />}
      {emoji !== undefined && <bdi aria-hidden="true">{emoji}</bdi>}
      {type === undefined && emoji === undefined && image !== undefined && (
        <img class="reaction-image" src={image} alt="" />
      )}
      {type === undefined && emoji === undefined && image === undefined && <Icon name="sticker" />}
      <span class="visually-hidden">
        {label} from {by}
      </span>
    </span>
  );
}

/** Truncates base64 data. The wire pane shows all of it. */
const withoutBytes = (raw: string): string =>
  raw.replaceAll(
    /[A-Za-z0-9+/=]{240,}/g,
    (bytes) => `${bytes.slice(0, 24)}…${bytes.length.toLocaleString('en')} characters`,
  );

const MAX_SHOWN = 600;

const shortened = (text: string): string =>
  text.length <= MAX_SHOWN
    ? text
    : `${text.slice(0, MAX_SHOWN)}… (${text.length.toLocaleString('en')} characters)`;

function accessibleLabel({ author, text, files, voice, isSticker, state }: ChatItem): string {
  const parts = [
    text === '' ? undefined : shortened(text),
    voice !== undefined ? 'voice message' : isSticker === true ? 'sticker' : undefined,
    voice === undefined && isSticker !== true && files.length > 0
      ? files.map(({ name }) => name).join(', ')
      : undefined,
    state,
  ];
  return `${author}: ${parts.filter(Boolean).join(', ')}`;
}
