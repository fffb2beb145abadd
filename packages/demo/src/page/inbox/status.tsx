import { Icon } from '../icons.tsx';
import type { Outcome } from './threads.ts';

const WORDS = {
  sending: 'Sending',
  pending: 'Pending',
  delivered: 'Delivered',
  failed: 'Failed',
  refused: 'Refused',
} as const;

/** What became of a message: a sign, a word, and for bad news the reason and what to do. */
export function Status({ outcome: { state, code, reason, advice } }: { outcome: Outcome }) {
  const isBad = state === 'failed' || state === 'refused';
  return (
    <span class={`status status-${state}`}>
      <span class="status-word">
        <Icon name={isBad ? 'cross' : state === 'delivered' ? 'check' : 'clock'} />
        {WORDS[state]}
        {code !== undefined && <code>{code}</code>}
      </span>
      {isBad && reason !== undefined && (
        <span class="status-reason">
          <bdi>{reason}</bdi> {advice}
        </span>
      )}
    </span>
  );
}
