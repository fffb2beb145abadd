import { verifyWebhook } from '@footbridge/kit';
import type { TrustedKey, VerifyResult } from '@footbridge/kit';
import { useEffect, useState } from 'preact/hooks';

import { about } from '../events.ts';
import { Icon } from '../icons.tsx';
import type { HttpExchange } from '../shapes.ts';

/** The signature checked again, here, by the kit, over the very bytes that crossed the wire. */
export function Signature({ entry }: { entry: HttpExchange }) {
  const [verified, setVerified] = useState<VerifyResult<TrustedKey>>();
  const publicKey = about.value?.publicKey;
  useEffect(() => {
    if (publicKey === undefined) return;
    const headers = Object.fromEntries(entry.requestHeaders);
    const trusted = [{ publicKey, scheme: 'Ed25519' as const, label: 'the CRM of this demo' }];
    void verifyWebhook(entry.requestBody, headers, trusted).then(setVerified, () => setVerified(undefined));
  }, [entry, publicKey]);
  if (verified === undefined) return null;
  return (
    <p class={verified.ok ? 'signature is-good' : 'signature is-bad'}>
      <Icon name={verified.ok ? 'check' : 'cross'} />
      {verified.ok
        ? 'The signature is right: Ed25519 over these bytes, checked again in this page.'
        : `The signature is not right: ${verified.reason}.`}
    </p>
  );
}
