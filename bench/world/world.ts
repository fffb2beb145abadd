import { generateKeyPairSync } from 'node:crypto';

import type { Pinning } from '../measure/pinning.ts';
import type { CrmCalls } from './crm.ts';
import type { LoadCalls } from './load.ts';
import type { MacsCalls } from './macs.ts';
import { startPart } from './part.ts';
import type { Part } from './part.ts';

/** Everything around the service under test, the same for every contestant, in three processes of its own. */
export interface World {
  readonly crm: Part<CrmCalls>;
  readonly macs: Part<MacsCalls>;
  readonly load: Part<LoadCalls>;
  readonly crmUrl: string;
  /** The CRM's signing key, PEM. */
  readonly key: { readonly publicKey: string; readonly privateKey: string };
  nextRun(): number;
  stop(): Promise<void>;
}

export async function startWorld(pinning: Pinning): Promise<World> {
  const crm = startPart<CrmCalls>(new URL('crm.ts', import.meta.url), pinning);
  const macs = startPart<MacsCalls>(new URL('macs.ts', import.meta.url), pinning);
  const load = startPart<LoadCalls>(new URL('load.ts', import.meta.url), pinning);
  const key = generateKeyPairSync('ed25519', {
    publicKeyEncoding: { type: 'spki', format: 'pem' },
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
  });
  let run = 0;
  return {
    crm,
    macs,
    load,
    crmUrl: await crm.call('listen'),
    key,
    nextRun: () => ++run,
    async stop() {
      await Promise.all([load.stop(), macs.stop(), crm.stop()]);
    },
  };
}

/** The locations every contestant serves: `count` with a Mac each. */
export function locationNames(count: number): string[] {
  return Array.from({ length: count }, (_, index) => `benchlocation${String(index).padStart(5, '0')}`);
}
