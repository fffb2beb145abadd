import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { certificateFor } from '@footbridge/testkit/certificate';
import { ed25519Key } from '@footbridge/testkit/keys';
import type { SigningKey } from '@footbridge/testkit/keys';

import type { Pinning } from '../measure/pinning.ts';
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
  /** The certificate file that the candidates trust through NODE_EXTRA_CA_CERTS. Undefined: the CRM uses plain HTTP. */
  readonly crmCertificate: string | undefined;
  /** The key that signs the CRM's webhooks. */
  readonly key: SigningKey;
  nextRun(): number;
  stop(): Promise<void>;
}

export async function startEnvironment(
  pinning: Pinning,
  folder: string,
  crmTls: boolean,
): Promise<BenchEnvironment> {
  const worker = (name: string) => startWorker(new URL(`${name}.ts`, import.meta.url), pinning);
  const crm: Worker<CrmCalls> = worker('crm');
  const macs: Worker<MacsCalls> = worker('macs');
  const load: Worker<LoadCalls> = worker('load');
  const certificate = crmTls ? certificateFor('localhost') : undefined;
  const crmCertificate = certificate && join(folder, 'crm.pem');
  if (crmCertificate !== undefined) await writeFile(crmCertificate, certificate?.cert ?? '');
  let run = 0;
  return {
    crm,
    macs,
    load,
    crmUrl: await crm.call('listen', certificate),
    crmCertificate,
    key: ed25519Key(),
    nextRun: () => ++run,
    async stop() {
      await Promise.all([load.stop(), macs.stop(), crm.stop()]);
    },
  };
}
