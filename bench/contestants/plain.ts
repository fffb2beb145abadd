import { fileURLToPath } from 'node:url';

import { freePort } from '@footbridge/testkit/ports';

import { startProcess } from './contestant.ts';
import type { Contestant } from './contestant.ts';

/** The two that let any Mac in: no licenses, no grants to ask for. */
function plain(name: string, entry: URL): Contestant {
  return {
    name,
    async start(place) {
      const port = await freePort();
      const env = {
        PORT: String(port),
        CRM_URL: place.crmUrl,
        CRM_PUBLIC_KEY: place.publicKey,
        RATE_LIMIT: '1000000',
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

export const floor = (name = 'floor') => plain(name, new URL('../floor.ts', import.meta.url));
export const reference = () => plain('reference', new URL('../reference/main.ts', import.meta.url));
