import { fileURLToPath } from 'node:url';

import { freePort } from '@footbridge/testkit/ports';

import { startProcess } from './contestant.ts';
import type { Contestant } from './contestant.ts';

/** The two that let any Mac in: no licenses, no grants to ask for. */
function plain(name: string, entry: URL, more: Record<string, string> = {}): Contestant {
  return {
    name,
    async start(place) {
      const port = await freePort();
      const env = {
        PORT: String(port),
        CRM_URL: place.crmUrl,
        CRM_PUBLIC_KEY: place.publicKey,
        RATE_LIMIT: '1000000',
        ...more,
      };
      const service = await startProcess(name, [fileURLToPath(entry)], env, port, place);
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
/** The same with the fastest parts that libraries offer. */
export const fastFloor = () => plain('fast floor', FLOOR, { FAST_PARTS: 'yes' });
export const reference = () => plain('reference', new URL('../reference/main.ts', import.meta.url));
