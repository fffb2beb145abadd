import type { ClassicType } from '@footbridge/kit';

/** SVG paths instead of emoji characters, which look different on every system and are missing on some. */
const PATHS = {
  attach: 'M4 16l4.5-5 3.5 4 3-3 5 5M4 5h16v14H4zM15 9h.01',
  file: 'M6 3h8l4 4v14H6zM14 3v4h4M9 13h6M9 17h4',
  voice: 'M12 3a3 3 0 0 1 3 3v5a3 3 0 0 1-6 0V6a3 3 0 0 1 3-3zM6 11a6 6 0 0 0 12 0M12 17v4',
  effect: 'M12 3v4M12 17v4M3 12h4M17 12h4M6 6l2.5 2.5M15.5 15.5 18 18M18 6l-2.5 2.5M8.5 15.5 6 18',
  sticker:
    'M20 12V7a3 3 0 0 0-3-3H7a3 3 0 0 0-3 3v10a3 3 0 0 0 3 3h5zM20 12h-5a3 3 0 0 0-3 3v5M8.5 10h.01M14 9.5h.01',
  group:
    'M9 11a3 3 0 1 0 0-6 3 3 0 0 0 0 6zM3 19c0-3 2.5-5 6-5s6 2 6 5M16 5.2a3 3 0 0 1 0 5.6M17.5 14.4c2 .6 3.5 2.3 3.5 4.6',
  signal: 'M4 18v-3M9 18v-6M14 18V9M19 18V6',
  wifi: 'M3 10c5-5 13-5 18 0M6.500 13.500c3-3 8-3 11 0M10 17c1.200-1.200 2.800-1.200 4 0',
  mac: 'M5 5h14v11H5zM2.5 19.500h19',
  desk: 'M4 4h16v16H4zM4 13h4.500l1.500 2.500h4l1.500-2.500H20',
  send: 'M12 19V5M6 11l6-6 6 6',
  close: 'M6 6l12 12M18 6 6 18',
  copy: 'M9 9h11v11H9zM5 15H4V4h11v1',
  sun: 'M12 8a4 4 0 1 1 0 8 4 4 0 0 1 0-8zM12 2v2M12 20v2M2 12h2M20 12h2M5 5l1.5 1.5M17.5 17.5 19 19M19 5l-1.5 1.5M6.5 17.5 5 19',
  moon: 'M20 14.5A8 8 0 0 1 9.5 4 8 8 0 1 0 20 14.5z',
  tour: 'M12 21a9 9 0 1 0 0-18 9 9 0 0 0 0 18zM15.5 8.5l-2 5-5 2 2-5z',
  smile: 'M12 21a9 9 0 1 0 0-18 9 9 0 0 0 0 18zM8.5 14c1.8 2.4 5.2 2.4 7 0M9 10h.01M15 10h.01',
  play: 'M8 5v14l11-7z',
  pause: 'M8 5v14M16 5v14',
  check: 'M5 12.5l4.5 4.5L19 7.5',
  cross: 'M7 7l10 10M17 7 7 17',
  clock: 'M12 21a9 9 0 1 0 0-18 9 9 0 0 0 0 18zM12 7v5l3 2',
  bolt: 'M13 3 5 14h6l-1 7 8-11h-6z',
  raw: 'M8 7l-5 5 5 5M16 7l5 5-5 5M13.5 5l-3 14',
  replay: 'M5 12a7 7 0 1 0 2.2-5.1L5 9M5 4v5h5',
  down: 'M12 5v14M6 13l6 6 6-6',
} as const;

export type IconName = keyof typeof PATHS;

export function Icon({ name }: { name: IconName }) {
  return (
    <svg class="icon" viewBox="0 0 24 24" aria-hidden="true" focusable="false">
      <path d={PATHS[name]} />
    </svg>
  );
}

const HEART = 'M12 20C3 14 3.5 5.5 8 5c2-.2 3.3 1 4 2.6C12.700 6 14 4.800 16 5c4.500.5 5 9-4 15z';
const THUMB =
  'M4 11h3v9H4zM9 11l3.500-7c1.700.2 2.300 1.700 1.700 3.500L13.500 10H19c1.300 0 1.900 1 1.600 2.200l-1.500 6.200c-.3 1-1 1.600-2 1.600H9z';

const HA = 'M4 3v7.500M4 6.700h5.500M9.500 3v7.500M12.500 10.500l3.700-7.500 3.700 7.500M13.800 8h4.800';

export function TapbackIcon({ type }: { type: ClassicType }) {
  return (
    <svg class={`tapback-icon tapback-${type}`} viewBox="0 0 24 24" aria-hidden="true" focusable="false">
      {type === 'love' && <path d={HEART} />}
      {type === 'like' && <path d={THUMB} />}
      {type === 'dislike' && <path d={THUMB} transform="rotate(180 12 12)" />}
      {type === 'laugh' && (
        <>
          <path class="tapback-letters" d={HA} />
          <path class="tapback-letters" d={HA} transform="translate(0 11)" />
        </>
      )}
      {type === 'emphasize' && (
        <path d="M7 4h3.400l-.6 11H7.600zM7.500 17h2.400v2.600H7.500zM13.600 4H17l-.6 11h-2.200zM14.100 17h2.400v2.600h-2.400z" />
      )}
      {type === 'question' && (
        <path d="M7.500 9C7.500 6 9.500 4 12.200 4c2.600 0 4.600 1.700 4.600 4.200 0 3.400-3.400 3.500-3.400 6.300h-2.800c0-3.600 3.100-4 3.100-6.100 0-1-.7-1.700-1.700-1.700-1.100 0-1.800.8-1.800 2.300zM10.600 16.800h2.900v2.800h-2.900z" />
      )}
    </svg>
  );
}

export const TAPBACK_NAMES: Record<ClassicType, string> = {
  love: 'Heart',
  like: 'Thumbs up',
  dislike: 'Thumbs down',
  laugh: 'Ha ha',
  emphasize: 'Exclamation',
  question: 'Question mark',
};
