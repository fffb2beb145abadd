import { useEffect, useRef, useState } from 'preact/hooks';

import { Icon } from '@footbridge/ui/icons';

interface Props {
  readonly url: string | undefined;
  readonly durationMs: number | undefined;
  /** Seeds the waveform, so that every message looks different. */
  readonly seed: string;
}

const BARS = 24;

export function VoicePlayer({ url, durationMs, seed }: Props) {
  const audio = useRef<HTMLAudioElement>(undefined);
  const [isPlaying, setPlaying] = useState(false);
  const [part, setPart] = useState(0);
  useEffect(() => () => audio.current?.pause(), []);

  function load(source: string): HTMLAudioElement {
    const sound = new Audio(source);
    sound.addEventListener('timeupdate', () => setPart(sound.currentTime / (sound.duration || 1)));
    sound.addEventListener('ended', () => {
      setPlaying(false);
      setPart(0);
    });
    return sound;
  }

  function toggle(): void {
    if (url === undefined) return;
    const sound = (audio.current ??= load(url));
    if (isPlaying) sound.pause();
    else void sound.play().catch(() => setPlaying(false));
    setPlaying(!isPlaying);
  }

  return (
    <span class="voice">
      <button
        type="button"
        class="voice-button"
        onClick={toggle}
        disabled={url === undefined}
        aria-label={isPlaying ? 'Pause voice message' : 'Play voice message'}
      >
        <Icon name={isPlaying ? 'pause' : 'play'} />
      </button>
      <svg class="voice-wave" viewBox={`0 0 ${BARS * 4} 24`} aria-hidden="true" focusable="false">
        {heights(seed).map((height, bar) => (
          <rect
            key={bar}
            x={bar * 4}
            y={12 - height / 2}
            width="2.4"
            height={height}
            rx="1.2"
            class={bar / BARS < part ? 'is-played' : ''}
          />
        ))}
      </svg>
      <span class="voice-time">{((durationMs ?? 0) / 1000).toFixed(1)} s</span>
    </span>
  );
}

function heights(seed: string): number[] {
  let hash = 7;
  for (const character of seed) hash = (hash * 31 + (character.codePointAt(0) ?? 0)) % 1_000_003;
  return Array.from({ length: BARS }, (_, bar) => {
    hash = (hash * 48_271 + bar) % 2_147_483_647;
    return 4 + (hash % 17) * Math.sin(((bar + 1) / (BARS + 1)) * Math.PI);
  });
}
