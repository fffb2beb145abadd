import { createServer, request } from 'node:http';

import { openEnrolment } from '@footbridge/agent/open/enrolment';
import { unencryptedLink } from '@footbridge/agent/config/unencrypted-link';
import { tempDir } from '@footbridge/testkit/cleanup';
import type { Cleanup } from '@footbridge/testkit/cleanup';
import { closeHttp, listen } from '@footbridge/testkit/loopback';
import { silentLog } from '@footbridge/testkit/silent-log';

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

async function activationAt(url: string, cleanup: Cleanup) {
  const dataDir = await tempDir(cleanup);
  const options = { url, dataDir, license: 'KEY', deviceId: undefined };
  return await (await openEnrolment(options, '26.1', silentLog)).activate();
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

  'a service whose activation response never ends, seen by an agent': async (_stage, cleanup) => {
    let sent = 0;
    const part = Buffer.alloc(65_536, ' ');
    const server = createServer((call, response) => {
      call.resume();
      const send = (): void => {
        while (!response.destroyed && response.write(part)) sent += part.length;
        response.once('drain', send);
      };
      send();
    });
    cleanup.add(() => closeHttp(server));
    const outcome = await activationAt(`http://127.0.0.1:${await listen(server)}`, cleanup);
    return { verify: async () => (outcome.ok || sent > 20_000_000 ? `${sent} bytes were read` : undefined) };
  },

  'a device token with a line break, seen by an agent': async (_stage, cleanup) => {
    const server = createServer((call, response) => {
      call.resume();
      response.writeHead(201).end(JSON.stringify({ deviceToken: 'one\ntwo' }));
    });
    cleanup.add(() => closeHttp(server));
    const outcome = await activationAt(`http://127.0.0.1:${await listen(server)}`, cleanup);
    return { verify: async () => (outcome.ok ? 'the token was saved' : undefined) };
  },

  'texts to a service on another machine without TLS, seen by an agent': async () => ({
    async verify() {
      const fault = unencryptedLink('http://bridge.example.com');
      return fault === undefined ? 'there is no warning' : undefined;
    },
  }),
};
