import { request } from 'node:http';

import type { Attack } from './attacks.ts';
import { ATTACKER, HONEST } from './stage.ts';

/** `fetch` cannot name another host. */
function statusOf(url: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const call = request(url, { headers: { Host: 'attacker.example' } }, (answer) =>
      resolve(answer.resume().statusCode ?? 0),
    );
    call.on('error', reject).end();
  });
}

const PERSON = { phone: '+14155550188' };

/** Attacks on what an operator sees and changes, and on the alerts. */
export const OPERATOR_DEFECTS: Readonly<Record<string, Attack>> = {
  'erasing a person of another tenant with a limited token': async (stage) => {
    const { service } = stage;
    await service.operator('PUT', `/operator/locations/${HONEST}/capture`);
    const { body } = await service.operator('POST', '/operator/tokens', {
      label: 'Attacker',
      locations: [ATTACKER],
    });
    const erase = (more: object) =>
      fetch(`${service.operatorUrl}/operator/privacy/erase`, {
        method: 'POST',
        headers: { Authorization: `Bearer ${String(body['token'])}`, 'Content-Type': 'application/json' },
        body: JSON.stringify({ ...PERSON, ...more }),
      });
    return {
      async verify() {
        const statuses = [(await erase({})).status, (await erase({ locationId: HONEST })).status];
        return statuses.every((status) => status === 403) ? undefined : `responses ${statuses.join(', ')}`;
      },
    };
  },

  'host names of an attacker at the operator listener': async ({ service }) => ({
    async verify() {
      const statuses = await Promise.all(
        ['/console', '/metrics', '/operator/session'].map((path) => statusOf(service.operatorUrl + path)),
      );
      return statuses.every((status) => status === 421) ? undefined : `responses ${statuses.join(', ')}`;
    },
  }),
};
