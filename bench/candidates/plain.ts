import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { freePort } from '@footbridge/testkit/ports';

import { startProcess } from './candidate.ts';
import type { Candidate } from './candidate.ts';

/** Candidates that accept any Mac, without licenses and grants. */
function plain(
  name: string,
  entry: URL,
  more: (folder: string) => Record<string, string> = () => ({}),
): Candidate {
  return {
    name,
    async start(start) {
      const port = await freePort();
      const env = {
        PORT: String(port),
        CRM_URL: start.crmUrl,
        CRM_PUBLIC_KEY: start.publicKey,
        RATE_LIMIT: '1000000',
        ...more(start.folder),
      };
      const service = await startProcess(name, [fileURLToPath(entry)], env, port, start);
      return {
        ...service,
        name,
        url: `http://127.0.0.1:${port}`,
        enrol: (locations) => Promise.resolve(locations.map((locationId) => ({ locationId, token: 'any' }))),
      };
    },
  };
}

const FLOOR = new URL('../floor.ts', import.meta.url);

export const floor = (name = 'floor') => plain(name, FLOOR);
/** The floor with the fastest available libraries. */
export const fastFloor = () => plain('fast floor', FLOOR, () => ({ FAST_PARTS: 'yes' }));
/** The floor that also records every inbound message on disk, as Footbridge must. */
export const durableFloor = () =>
  plain('durable floor', FLOOR, (folder) => ({ DURABLE: join(folder, 'claims.sqlite') }));
export const reference = () => plain('reference', new URL('../reference/main.ts', import.meta.url));
