import { generateKeyPairSync } from 'node:crypto';

import type { Pinning } from '../measure/pinning.ts';
import type { CrmCertificate } from './certificate.ts';
import type { CrmCalls } from './crm.ts';
import type { LoadCalls } from './load.ts';
import type { MacsCalls } from './macs.ts';
import { startWorker } from './worker.ts';
import type { Worker } from './worker.ts';

/** The environment of the service under test, in three processes. It is the same for every candidate. */
export interface BenchEnvironment {
  readonly crm: Worker<CrmCalls>;
  readonly macs: Worker<MacsCalls>;
  readonly load: Worker<LoadCalls>;
  readonly crmUrl: string;
  /** The CRM's signing key, PEM. */
  readonly key: { readonly publicKey: string; readonly privateKey: string };
  nextRun(): number;
  stop(): Promise<void>;
}

/** The CRM speaks TLS with a certificate, and plain HTTP without one. */
export async function startEnvironment(
  pinning: Pinning,
  certificate: CrmCertificate | undefined,
): Promise<BenchEnvironment> {
  const crm = startWorker<CrmCalls>(new URL('crm.ts', import.meta.url), pinning);
  const macs = startWorker<MacsCalls>(new URL('macs.ts', import.meta.url), pinning);
  const load = startWorker<LoadCalls>(new URL('load.ts', import.meta.url), pinning);
  const key = generateKeyPairSync('ed25519', {
    publicKeyEncoding: { type: 'spki', format: 'pem' },
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
  });
  let run = 0;
  return {
    crm,
    macs,
    load,
    crmUrl: await crm.call('listen', certificate),
    key,
    nextRun: () => ++run,
    async stop() {
      await Promise.all([load.stop(), macs.stop(), crm.stop()]);
    },
  };
}

/** Returns the names of `count` locations, each of which has one Mac. */
export function locationNames(count: number): string[] {
  return Array.from({ length: count }, (_, index) => `benchlocation${String(index).padStart(5, '0')}`);
}
