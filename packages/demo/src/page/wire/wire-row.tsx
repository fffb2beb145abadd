import type { Exchange, Leg } from '../shapes.ts';
import { describe } from './describe.ts';

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
          <span class="unseen"> {way}</span>
        </span>
        <span class="wire-arrow" />
      </button>
    </li>
  );
}
