import type { Exchange, Leg } from '../shapes.ts';
import { describe } from './describe.ts';
import type { Chapter } from './narrate.ts';
import { plainWords } from './narrate.ts';

interface Props {
  readonly entry: Exchange;
  readonly isOpen: boolean;
  readonly isStop: boolean;
  readonly onOpen: () => void;
}

const SIDES: Record<Leg, string> = {
  'mac→service': 'leg-mac points-right',
  'service→mac': 'leg-mac points-left',
  'crm→service': 'leg-crm points-left',
  'service→crm': 'leg-crm points-right',
};

/** The call on the side of those who talk, what it means on the other. */
export function WireRow({ entry, isOpen, isStop, onOpen }: Props) {
  const { title, state, note, tone, way } = describe(entry);
  return (
    <li class={`wire-row ${SIDES[entry.leg]} is-${entry.kind} tone-${tone}`}>
      <button
        type="button"
        data-n={entry.n}
        tabIndex={isStop ? 0 : -1}
        aria-expanded={isOpen}
        onClick={onOpen}
      >
        <span class="wire-label">
          <span class="wire-title">{title}</span>
          {state !== '' && <span class="wire-state"> {state}</span>}
          {note !== '' && <span class="wire-note"> {note}</span>}
          <span class="unseen"> {way}. </span>
          <span class="wire-arrow" />
        </span>
        <span class="wire-words">{plainWords(entry)}</span>
      </button>
    </li>
  );
}

const QUOTED = 80;

export function WireChapter({ chapter: { title, quote }, at }: { chapter: Chapter; at: number }) {
  return (
    <li class="wire-chapter">
      <span class="wire-chapter-words">
        <strong>
          <bdi>{title}</bdi>
        </strong>
        {quote !== '' && (
          <span class="wire-quote">
            {' '}
            “<bdi>{quote.length > QUOTED ? `${quote.slice(0, QUOTED)}…` : quote}</bdi>”
          </span>
        )}
      </span>
      <time class="wire-time" dateTime={new Date(at).toISOString()}>
        {new Date(at).toLocaleTimeString('en-GB')}
      </time>
    </li>
  );
}
