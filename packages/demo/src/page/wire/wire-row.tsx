import { Icon } from '@footbridge/ui/icons';
import type { CallOrFrame, Leg, ProcessEvent } from '../types.ts';
import { OPENED } from '../time.ts';
import { describe } from './describe.ts';
import type { Heading } from './explain.ts';
import { explain } from './explain.ts';

interface Props {
  readonly entry: CallOrFrame;
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

/** Shows a call or frame between its two parties, and its explanation on the free side. */
export function WireRow({ entry, isOpen, isStop, onOpen }: Props) {
  const { title, state, note, tone, direction } = describe(entry);
  return (
    <li
      class={`wire-row ${SIDES[entry.leg]} is-${entry.kind} tone-${tone} ${entry.at > OPENED ? 'is-new' : ''}`}
    >
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
          <span class="visually-hidden"> {direction}. </span>
          <span class="wire-arrow" />
        </span>
        <span class="wire-words">{explain(entry)}</span>
      </button>
    </li>
  );
}

const MAX_QUOTE = 80;

interface HeadingProps {
  readonly heading: Heading;
  readonly at: number;
  /** How many groups have this heading. */
  readonly times: number;
}

export function WireHeading({ heading: { title, quote }, at, times }: HeadingProps) {
  return (
    <li class={at > OPENED ? 'wire-heading is-new' : 'wire-heading'}>
      <span class="wire-heading-words">
        <strong>
          <bdi>{title}</bdi>
        </strong>
        {quote !== '' && (
          <span class="wire-quote">
            {' '}
            “<bdi>{quote.length > MAX_QUOTE ? `${quote.slice(0, MAX_QUOTE)}…` : quote}</bdi>”
          </span>
        )}
      </span>
      {times > 1 && <span class="wire-times">{times} times</span>}
      <time class="wire-time" dateTime={new Date(at).toISOString()}>
        {new Date(at).toLocaleTimeString('en-GB')}
      </time>
    </li>
  );
}

interface MoreProps {
  readonly count: number;
  readonly isOpen: boolean;
  readonly onToggle: () => void;
}

/** Unfolds the groups that are like the ones above. */
export function WireMore({ count, isOpen, onToggle }: MoreProps) {
  return (
    <li class="wire-more">
      <button type="button" class="text-button" aria-expanded={isOpen} onClick={onToggle}>
        {isOpen ? `Hide ${count}` : `Show ${count} more like this`}
      </button>
    </li>
  );
}

export function WireEvent({ event: { tone, title, text, at } }: { event: ProcessEvent }) {
  return (
    <li class={`wire-event tone-${tone}`}>
      <Icon name={tone === 'bad' ? 'bolt' : 'check'} />
      <strong>{title}</strong>
      <span>{text}</span>
      <time class="wire-time" dateTime={new Date(at).toISOString()}>
        {new Date(at).toLocaleTimeString('en-GB')}
      </time>
    </li>
  );
}
