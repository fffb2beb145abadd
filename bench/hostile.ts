// Floods the service with invalid requests while one legitimate tenant uses it. `node bench/hostile.ts [requests]`, default 200000.
// Passes if there is no 5xx and no crash, the event loop stays responsive, and every legitimate request succeeds.
import process from 'node:process';
import { setTimeout as sleep } from 'node:timers/promises';

import { ed25519Key, signBody } from '@footbridge/testkit/keys';
import { activate, connectMac } from '@footbridge/testkit/mac';
import { startService } from '@footbridge/testkit/service';
import { Pool } from 'undici';

import { tail } from './measure/statistics.ts';

const REQUESTS = Number(process.argv[2] ?? 200_000);
const CONNECTIONS = 48;
const LEGITIMATE_PER_SECOND = 20;

const key = ed25519Key('hostile');
const untrustedKey = ed25519Key('untrusted');
const validBody = (n: number) => ({
  locationId: 'legitimate1',
  contactId: 'contact1',
  phone: '+14155550100',
  message: `message ${n}`,
  messageId: `message-${n}`,
});

/** Generators of invalid requests, signed and unsigned; each request differs by its number. */
const INVALID: ((n: number) => { body: string; signature?: string; type?: string })[] = [
  (n) => ({ body: JSON.stringify(validBody(n)) }),
  (n) => ({ body: JSON.stringify(validBody(n)), signature: 'N/A' }),
  (n) => ({ body: JSON.stringify(validBody(n)), signature: Buffer.alloc(64, n % 250).toString('base64') }),
  (n) => {
    const body = JSON.stringify({ ...validBody(n), locationId: `made${n}up` });
    return { body, signature: signBody(body, untrustedKey) };
  },
  (n) => ({ body: `{"locationId":"legitimate1","message":"${'x'.repeat(n % 2000)}` }),
  (n) => signed('['.repeat(n % 5000) + ']'.repeat(n % 5000) || '[]'),
  (n) => signed(JSON.stringify({ ...validBody(n), locationId: `made${n}up` })),
  (n) => signed(JSON.stringify({ ...validBody(n), locationId: 'hostile1', phone: '9'.repeat(n % 60) })),
  (n) =>
    signed(
      JSON.stringify({ ...validBody(n), locationId: 'hostile1', message: '\ud800\u0000'.repeat(n % 12_000) }),
    ),
  (n) => signed(`{"__proto__":{"locationId":"x"},"constructor":${n},"type":{"a":[]}}`),
  (n) => ({ ...signed(JSON.stringify(validBody(n))), type: 'text/plain' }),
  (n) =>
    signed(
      JSON.stringify({
        ...validBody(n),
        attachments: Array.from({ length: n % 40 }, () => 'x'),
        locationId: 'hostile1',
      }),
    ),
];

function signed(body: string) {
  return { body, signature: signBody(body, key) };
}

interface Sent {
  readonly status: number;
  readonly ms: number;
}

/** Resolves with status -1 when there is no response. */
async function post(
  pool: Pool,
  { body, signature, type = 'application/json' }: { body: string; signature?: string; type?: string },
): Promise<Sent> {
  const started = performance.now();
  const headers = {
    'Content-Type': type,
    ...(signature !== undefined && { 'X-CRM-Signature': signature }),
  };
  const status = await pool
    .request({ path: '/crm/webhook', method: 'POST', headers, body })
    .then(async (response) => {
      await response.body.dump();
      return response.statusCode;
    })
    .catch(() => -1);
  return { status, ms: performance.now() - started };
}

const service = await startService({
  env: { CRM_PUBLIC_KEY: key.publicKey, RATE_LIMIT_CRM_WEBHOOK: '2000' },
});
try {
  const license = await service.operator('POST', '/operator/licenses', { label: 'hostile', maxSeats: 1 });
  const { deviceToken = '' } = await activate(service.url, { licenseKey: String(license.body['key']) });
  const mac = await connectMac(service.url, { token: deviceToken });
  await mac.register('legitimate1');

  const attackers = new Pool(service.url, { connections: CONNECTIONS });
  const tenant = new Pool(service.url, { connections: 4 });
  const statuses = new Map<number, number>();
  let sent = 0;
  const flood = Array.from({ length: CONNECTIONS }, async () => {
    while (sent < REQUESTS) {
      const n = sent++;
      const generate = INVALID[n % INVALID.length];
      if (generate === undefined) return;
      const { status } = await post(attackers, generate(n));
      statuses.set(status, (statuses.get(status) ?? 0) + 1);
      if (n > 0 && n % Math.ceil(REQUESTS / 10) === 0) console.log(`${Math.round((n / REQUESTS) * 100)} %`);
    }
  });
  const duringFlood: Sent[] = [];
  const afterFlood: Sent[] = [];
  let n = 0;
  const sendLegitimate = () => post(tenant, signed(JSON.stringify(validBody(n++))));
  const floodEnded = new AbortController();
  const legitimate = (async () => {
    while (!floodEnded.signal.aborted) {
      duringFlood.push(await sendLegitimate());
      await sleep(1000 / LEGITIMATE_PER_SECOND);
    }
  })();
  await Promise.all(flood);
  floodEnded.abort();
  await legitimate;
  for (let request = 0; request < 50; request++) afterFlood.push(await sendLegitimate());

  const metrics = await (await fetch(`${service.operatorUrl}/metrics`)).text();
  const lag = /nodejs_eventloop_lag_p99_seconds\S* ([\d.e-]+)/.exec(metrics)?.[1];
  const failed = [...statuses].filter(([status]) => status >= 500 || status < 0);
  const notServed = duringFlood.filter(({ status }) => status !== 200);
  const flooded = tail(duringFlood.map(({ ms }) => ms));
  const calm = tail(afterFlood.map(({ ms }) => ms));
  console.log(`invalid requests by status: ${JSON.stringify(Object.fromEntries(statuses))}`);
  console.log(
    `legitimate requests: ${duringFlood.length} sent, ${notServed.length} not served, ` +
      `p50 ${flooded.p50.toFixed(1)} ms, p99 ${flooded.p99.toFixed(1)} ms ` +
      `(after the flood p50 ${calm.p50.toFixed(1)} ms)`,
  );
  console.log(
    `event loop lag p99 of the service: ${lag === undefined ? 'unknown' : `${(Number(lag) * 1000).toFixed(1)} ms`}`,
  );
  const passed = failed.length === 0 && notServed.length === 0 && Number(lag ?? 0) < 0.05;
  console.log(passed ? 'PASS' : 'FAIL');
  process.exitCode = passed ? 0 : 1;
  await Promise.all([attackers.destroy(), tenant.destroy()]);
  mac.terminate();
} finally {
  await service.stop();
}
