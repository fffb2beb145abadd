import { verifyWebhook } from '@footbridge/kit';
import type { TrustedKey, VerifyResult } from '@footbridge/kit';
import { useEffect, useState } from 'preact/hooks';

import { about } from '../events.ts';
import { Icon } from '@footbridge/ui/icons';
import type { HttpExchange } from '../types.ts';

/** Verifies the signature in the page with the kit, over the recorded bytes. */
export function Signature({ entry }: { entry: HttpExchange }) {
  const [verified, setVerified] = useState<VerifyResult<TrustedKey>>();
  const publicKey = about.value?.publicKey;
  useEffect(() => {
    if (publicKey === undefined) return;
    const headers = Object.fromEntries(entry.requestHeaders);
    const trusted = [{ publicKey, scheme: 'Ed25519' as const, label: 'demo CRM' }];
    void verifyWebhook(entry.requestBody, headers, trusted).then(setVerified, () => setVerified(undefined));
  }, [entry, publicKey]);
  if (verified === undefined) return null;
  return (
    <p class={verified.ok ? 'signature is-good' : 'signature is-bad'}>
      <Icon name={verified.ok ? 'check' : 'cross'} />
      {verified.ok
        ? 'Valid signature: Ed25519 over these bytes, verified again in this page.'
        : `Invalid signature: ${verified.reason}.`}
    </p>
  );
}
