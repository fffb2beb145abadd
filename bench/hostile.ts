// A flood of junk beside one honest tenant. `node bench/hostile.ts [requests]`, 200000 unless told otherwise.
// Passes when nothing answers 5xx, nothing crashes, the event loop stays responsive, and the honest tenant is served throughout.
import { Agent, request as httpRequest } from 'node:http';
import process from 'node:process';

import { ed25519Key, signBody } from '@footbridge/testkit/keys';
import { activate, connectMac } from '@footbridge/testkit/mac';
import { startService } from '@footbridge/testkit/service';

const REQUESTS = Number(process.argv[2] ?? 200_000);
const CONNECTIONS = 48;
const HONEST_PER_SECOND = 20;

const key = ed25519Key('hostile');
const stranger = ed25519Key('stranger');
const good = (n: number) => ({
  locationId: 'honest1',
  contactId: 'contact1',
  phone: '+14155550100',
  message: `message ${n}`,
  messageId: `message-${n}`,
});

/** Kinds of junk, signed and unsigned; each makes another request from its number. */
const JUNK: ((n: number) => { body: string; signature?: string; type?: string })[] = [
  (n) => ({ body: JSON.stringify(good(n)) }),
  (n) => ({ body: JSON.stringify(good(n)), signature: 'N/A' }),
  (n) => ({ body: JSON.stringify(good(n)), signature: Buffer.alloc(64, n % 250).toString('base64') }),
  (n) => {
    const body = JSON.stringify({ ...good(n), locationId: `made${n}up` });
    return { body, signature: signBody(body, stranger) };
  },
  (n) => ({ body: `{"locationId":"honest1","message":"${'x'.repeat(n % 2000)}` }),
  (n) => signed('['.repeat(n % 5000) + ']'.repeat(n % 5000) || '[]'),
  (n) => signed(JSON.stringify({ ...good(n), locationId: `made${n}up` })),
  (n) => signed(JSON.stringify({ ...good(n), locationId: 'hostile1', phone: '9'.repeat(n % 60) })),
  (n) =>
    signed(
      JSON.stringify({ ...good(n), locationId: 'hostile1', message: '\ud800\u0000'.repeat(n % 12_000) }),
    ),
  (n) => signed(`{"__proto__":{"locationId":"x"},"constructor":${n},"type":{"a":[]}}`),
  (n) => ({ ...signed(JSON.stringify(good(n))), type: 'text/plain' }),
  (n) =>
    signed(
      JSON.stringify({
        ...good(n),
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

function post(
  agent: Agent,
  url: URL,
  junk: { body: string; signature?: string; type?: string },
): Promise<Sent> {
  const began = performance.now();
  return new Promise((resolve) => {
    const headers: Record<string, string> = { 'Content-Type': junk.type ?? 'application/json' };
    if (junk.signature !== undefined) headers['X-CRM-Signature'] = junk.signature;
    const outgoing = httpRequest(url, { method: 'POST', agent, headers }, (answer) => {
      answer
        .resume()
        .on('end', () => resolve({ status: answer.statusCode ?? 0, ms: performance.now() - began }));
    });
    outgoing.on('error', () => resolve({ status: -1, ms: performance.now() - began }));
    outgoing.end(junk.body);
  });
}

const percentile = (values: number[], part: number): string =>
  (values.toSorted((left, right) => left - right)[Math.floor((values.length - 1) * part)] ?? 0).toFixed(1);

const service = await startService({
  env: { CRM_PUBLIC_KEY: key.publicKey, RATE_LIMIT_CRM_WEBHOOK: '2000' },
});
try {
  const license = await service.operator('POST', '/operator/licenses', { label: 'hostile', maxSeats: 1 });
  const { deviceToken = '' } = await activate(service.url, { licenseKey: String(license.body['key']) });
  const mac = await connectMac(service.url, { token: deviceToken });
  await mac.register('honest1');

  const url = new URL('/crm/webhook', service.url);
  const agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS });
  const own = new Agent({ keepAlive: true, maxSockets: 4 });
  const statuses = new Map<number, number>();
  let sent = 0;
  const flood = Array.from({ length: CONNECTIONS }, async () => {
    while (sent < REQUESTS) {
      const n = sent++;
      const make = JUNK[n % JUNK.length];
      if (make === undefined) return;
      const { status } = await post(agent, url, make(n));
      statuses.set(status, (statuses.get(status) ?? 0) + 1);
      if (n > 0 && n % Math.ceil(REQUESTS / 10) === 0) console.log(`${Math.round((n / REQUESTS) * 100)} %`);
    }
  });
  const honest: Sent[] = [];
  const calm: Sent[] = [];
  const wait = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
  let n = 0;
  const storm = new AbortController();
  const tenant = (async () => {
    while (!storm.signal.aborted) {
      honest.push(await post(own, url, signed(JSON.stringify(good(n++)))));
      await wait(1000 / HONEST_PER_SECOND);
    }
  })();
  await Promise.all(flood);
  storm.abort();
  await tenant;
  for (let quiet = 0; quiet < 50; quiet++) calm.push(await post(own, url, signed(JSON.stringify(good(n++)))));

  const metrics = await (await fetch(`${service.operatorUrl}/metrics`)).text();
  const lag = /nodejs_eventloop_lag_p99_seconds\S* ([\d.e-]+)/.exec(metrics)?.[1];
  const failed = [...statuses].filter(([status]) => status >= 500 || status < 0);
  const refused = honest.filter(({ status }) => status !== 200);
  console.log(`junk by status: ${JSON.stringify(Object.fromEntries(statuses))}`);
  console.log(
    `honest: ${honest.length} sent, ${refused.length} not served, p50 ${percentile(
      honest.map(({ ms }) => ms),
      0.5,
    )} ms, p99 ${percentile(
      honest.map(({ ms }) => ms),
      0.99,
    )} ms (calm p50 ${percentile(
      calm.map(({ ms }) => ms),
      0.5,
    )} ms)`,
  );
  console.log(
    `event loop lag p99 of the service: ${lag === undefined ? 'unknown' : `${(Number(lag) * 1000).toFixed(1)} ms`}`,
  );
  const passed = failed.length === 0 && refused.length === 0 && Number(lag ?? 0) < 0.05;
  console.log(passed ? 'PASS' : 'FAIL');
  process.exitCode = passed ? 0 : 1;
  agent.destroy();
  own.destroy();
  mac.terminate();
} finally {
  await service.stop();
}
