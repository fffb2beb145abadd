import { useRef } from 'preact/hooks';

import { Icon } from '@footbridge/ui/icons';
import { readFile, pictureFile, STICKERS, stickerFile, voiceFile } from '../generated-files.ts';
import type { StickerName } from '../generated-files.ts';
import type { UploadedFile } from '../types.ts';
import { EFFECTS } from './effects.ts';
import type { Effect } from './effects.ts';
import { Menu } from './menu.tsx';

interface Props {
  readonly label: string;
  readonly placeholder: string;
  readonly onText: (text: string) => void;
  readonly onFile: (file: UploadedFile) => void;
  readonly onVoice: (file: UploadedFile) => void;
  readonly onSticker: (sticker: StickerName) => void;
  readonly onEffect: (effect: Effect, text: string) => void;
  readonly onGroup?: () => void;
}

/** The text input and the buttons for other content. Both sides use it. */
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

  function takeText(): string {
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
        const text = takeText();
        if (text !== '') onText(text);
      }}
    >
      <div class="composer-tools" role="group" aria-label="Other content">
        <Menu
          icon="attach"
          label="Send a file"
          choices={[
            { label: 'Sample picture', run: () => onFile(pictureFile()) },
            { label: 'Choose a file…', run: () => picker.current?.click() },
          ]}
        />
        <Menu
          icon="voice"
          label="Send a voice message"
          choices={[{ label: 'Voice', run: () => onVoice(voiceFile()) }]}
        />
        <Menu
          icon="effect"
          label="Send with an effect"
          choices={EFFECTS.map((effect) => ({
            label: effect.title,
            run: () => onEffect(effect, takeText() || `${effect.title}!`),
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
          <Menu icon="group" label="Start a group chat" choices={[{ label: 'Group', run: onGroup }]} />
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
        class="visually-hidden"
        tabIndex={-1}
        aria-hidden="true"
        onChange={({ currentTarget }) => {
          const [file] = currentTarget.files ?? [];
          currentTarget.value = '';
          if (file !== undefined) void readFile(file).then(onFile);
        }}
      />
    </form>
  );
}
