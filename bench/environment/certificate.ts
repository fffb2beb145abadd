import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { certificateFor } from '@footbridge/testkit/certificate';

/** The certificate of the benchmark's CRM. The candidates trust its file through NODE_EXTRA_CA_CERTS. */
export interface CrmCertificate {
  readonly key: string;
  readonly cert: string;
  readonly file: string;
}

export async function createCertificate(folder: string): Promise<CrmCertificate> {
  const file = join(folder, 'crm.pem');
  const { key, cert } = certificateFor('localhost');
  await writeFile(file, cert);
  return { key, cert, file };
}
