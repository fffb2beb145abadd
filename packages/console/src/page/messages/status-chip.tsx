import { Icon } from '@footbridge/ui/icons';
import type { IconName } from '@footbridge/ui/icons';

const TONES: Readonly<Record<string, { tone: string; icon: IconName }>> = {
  delivered: { tone: 'good', icon: 'check' },
  failed: { tone: 'bad', icon: 'cross' },
  rejected: { tone: 'bad', icon: 'cross' },
  undeliverable: { tone: 'bad', icon: 'cross' },
};
const WAITING = { tone: 'waiting', icon: 'clock' } as const;
/** Delivered, but a person has to check it. */
const DOUBTFUL = { tone: 'waiting', icon: 'check' } as const;

/** A status by icon, word and colour. */
export function StatusChip({ status, code }: { readonly status: string; readonly code: string | null }) {
  const { tone, icon } = status === 'delivered' && code !== null ? DOUBTFUL : (TONES[status] ?? WAITING);
  return (
    <span class={`chip chip-${tone}`}>
      <Icon name={icon} />
      {status}
      {code !== null && <code>{code}</code>}
    </span>
  );
}
