import { Icon } from '@footbridge/ui/icons';
import type { Outcome } from './threads.ts';

const LABELS = {
  sending: 'Sending',
  pending: 'Pending',
  delivered: 'Delivered',
  failed: 'Failed',
  rejected: 'Rejected',
} as const;

/** The status of a message, with the reason and advice if it failed. */
export function Status({ outcome: { state, code, reason, advice } }: { outcome: Outcome }) {
  const isError = state === 'failed' || state === 'rejected';
  return (
    <span class={`status status-${state}`}>
      <span class="status-word">
        <Icon name={isError ? 'cross' : state === 'delivered' ? 'check' : 'clock'} />
        {LABELS[state]}
        {code !== undefined && <code>{code}</code>}
      </span>
      {isError && reason !== undefined && (
        <span class="status-reason">
          <bdi>{reason}</bdi> {advice}
        </span>
      )}
    </span>
  );
}
