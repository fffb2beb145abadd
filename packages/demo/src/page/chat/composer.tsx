import { useRef } from 'preact/hooks';

import { Icon } from '../icons.tsx';
import { pickedFile, pictureFile, STICKERS, stickerFile, voiceFile } from '../made-files.ts';
import type { StickerName } from '../made-files.ts';
import type { GivenFile } from '../shapes.ts';
import { EFFECTS } from './effects.ts';
import type { Effect } from './effects.ts';
import { Menu } from './menu.tsx';

interface Props {
  readonly label: string;
  readonly placeholder: string;
  readonly onText: (text: string) => void;
  readonly onFile: (file: GivenFile) => void;
  readonly onVoice: (file: GivenFile) => void;
  readonly onSticker: (sticker: StickerName) => void;
  readonly onEffect: (effect: Effect, text: string) => void;
  readonly onGroup?: () => void;
}

/** A line to write in, and buttons for everything that is not text. Both sides have the same. */
export function Composer({
  label,
  placeholder,
  onText,
  onFile,
  onVoice,
  onSticker,
  onEffect,
  onGroup,
}: Props) {
  const input = useRef<HTMLInputElement>(null);
  const picker = useRef<HTMLInputElement>(null);

  function take(): string {
    const text = input.current?.value.trim() ?? '';
    if (input.current !== null) input.current.value = '';
    return text;
  }

  return (
    <form
      class="composer"
      aria-label={label}
      onSubmit={(event) => {
        event.preventDefault();
        const text = take();
        if (text !== '') onText(text);
      }}
    >
      <div class="composer-tools" role="group" aria-label="Something else than text">
        <Menu
          icon="attach"
          label="Send a file"
          choices={[
            { label: 'A picture', run: () => onFile(pictureFile()) },
            { label: 'A file of yours…', run: () => picker.current?.click() },
          ]}
        />
        <Menu
          icon="voice"
          label="Send a voice message"
          choices={[{ label: 'Voice', run: () => onVoice(voiceFile()) }]}
        />
        <Menu
          icon="effect"
          label="Send with an animation"
          choices={EFFECTS.map((effect) => ({
            label: effect.title,
            run: () => onEffect(effect, take() || `${effect.title}!`),
          }))}
        />
        <Menu
          icon="sticker"
          label="Send a sticker"
          choices={STICKERS.map((name) => ({
            label: name,
            picture: (
              <img class="sticker-choice" src={`data:image/png;base64,${stickerFile(name).base64}`} alt="" />
            ),
            run: () => onSticker(name),
          }))}
        />
        {onGroup !== undefined && (
          <Menu icon="group" label="Open a group chat" choices={[{ label: 'Group', run: onGroup }]} />
        )}
      </div>
      <div class="composer-line">
        <input
          ref={input}
          class="composer-input"
          aria-label={label}
          placeholder={placeholder}
          autocomplete="off"
          enterkeyhint="send"
        />
        <button type="submit" class="send-button" aria-label="Send">
          <Icon name="send" />
        </button>
      </div>
      <input
        ref={picker}
        type="file"
        class="unseen"
        tabIndex={-1}
        aria-hidden="true"
        onChange={({ currentTarget }) => {
          const [file] = currentTarget.files ?? [];
          currentTarget.value = '';
          if (file !== undefined) void pickedFile(file).then(onFile);
        }}
      />
    </form>
  );
}
