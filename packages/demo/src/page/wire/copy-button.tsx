import { useState } from 'preact/hooks';

import { notice } from '../post-action.ts';
import { Icon } from '@footbridge/ui/icons';

export function CopyButton({ label, text }: { label: string; text: string }) {
  const [isCopied, setCopied] = useState(false);
  async function copy(): Promise<void> {
    try {
      await navigator.clipboard.writeText(text);
      setCopied(true);
      setTimeout(() => setCopied(false), 1500);
    } catch {
      notice.value = 'The browser does not allow this page to use the clipboard.';
    }
  }
  return (
    <button type="button" class="text-button" onClick={() => void copy()}>
      <Icon name={isCopied ? 'check' : 'copy'} />
      {isCopied ? 'Copied' : label}
    </button>
  );
}
