import { useId, useState } from 'preact/hooks';

import { singleEmoji } from './single-emoji.ts';

/** Takes any other emoji. A word or several emoji are rejected with a hint. */
export function EmojiForm({ onEmoji }: { onEmoji: (emoji: string) => void }) {
  const hint = useId();
  const [isWrong, setWrong] = useState(false);
  return (
    <form
      class="tapback-any"
      onSubmit={(event) => {
        event.preventDefault();
        const typed = new FormData(event.currentTarget).get('emoji');
        const emoji = typeof typed === 'string' ? singleEmoji(typed) : undefined;
        if (emoji === undefined) setWrong(true);
        else onEmoji(emoji);
      }}
    >
      <input
        name="emoji"
        aria-label="Other emoji"
        aria-invalid={isWrong}
        aria-describedby={hint}
        placeholder="or type one"
        maxLength={32}
        autocomplete="off"
        onInput={() => setWrong(false)}
      />
      <p id={hint} class="tapback-hint" role="alert">
        {isWrong && 'Enter one emoji.'}
      </p>
    </form>
  );
}
