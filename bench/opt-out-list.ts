// Imports a long list of opt-outs while other requests are measured: node scripts/run.mjs bench/opt-out-list.ts [--rows 1000000]
import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createWriteStream, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';

import { createCleanup, tempDir } from '@footbridge/testkit/cleanup';
import { ed25519Key, signedRequest } from '@footbridge/testkit/keys';
import { startService } from '@footbridge/testkit/service';
import type { Service } from '@footbridge/testkit/service';

const CLI = join(import.meta.dirname, '../packages/cli/src/main.ts');
const LOCATION = 'loc1';
const PROBE_EVERY_MS = 20;
const LOOK_UPS = 2000;

const numberOf = (index: number) => `+1415${2_000_000 + index}`;

async function* lines(rows: number): AsyncGenerator<string> {
  for (let start = 0; start < rows; start += 1000)
    yield Array.from(
      { length: Math.min(1000, rows - start) },
      (_, index) => `${numberOf(start + index)}\n`,
    ).join('');
}

const residentMb = (pid: number) =>
  Math.round(Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024);

function spread(values: readonly number[]): string {
  const sorted = values.toSorted((a, b) => a - b);
  const at = (share: number) => (sorted[Math.floor(share * (sorted.length - 1))] ?? 0).toFixed(1);
  return `p50 ${at(0.5)} ms, p99 ${at(0.99)} ms, at most ${at(1)} ms (${sorted.length})`;
}

async function timed(task: () => Promise<unknown>): Promise<number> {
  const start = performance.now();
  await task();
  return performance.now() - start;
}

/** Probes the event loop of the service, with a request that uses neither the database nor a token. */
async function probe(service: Service, until: () => boolean): Promise<number[]> {
  const times: number[] = [];
  while (!until()) {
    times.push(await timed(async () => (await fetch(`${service.operatorUrl}/livez`)).text()));
    await sleep(PROBE_EVERY_MS);
  }
  return times;
}

async function run(rows: number): Promise<void> {
  const cleanup = createCleanup();
  const key = ed25519Key();
  try {
    const service = await startService({
      env: {
        CRM_PUBLIC_KEY: key.publicKey,
        OPT_OUT_ENFORCED: 'true',
        RATE_LIMIT_CRM_WEBHOOK: '1000000',
        CRM_OAUTH_ENCRYPTION_KEY: randomBytes(32).toString('hex'),
      },
    });
    cleanup.add(() => service.stop());
    const list = join(await tempDir(cleanup), 'list.txt');
    await pipeline(Readable.from(lines(rows)), createWriteStream(list));
    const webhook = (index: number) => async () => {
      const body = { locationId: LOCATION, contactId: 'c', phone: numberOf(index), message: 'x' };
      const response = await fetch(`${service.url}/crm/webhook`, signedRequest(body, key));
      await response.text();
      return response.status;
    };
    const lookUps = async () => {
      const times: number[] = [];
      for (let index = 0; index < LOOK_UPS; index++)
        times.push(await timed(webhook(Math.floor((index * rows * 2) / LOOK_UPS))));
      return times;
    };
    const report = (name: string, value: string) => process.stdout.write(`${name.padEnd(34)} ${value}\n`);
    const memory = () => `${residentMb(service.pid)} MB`;

    report('webhook, empty list', spread(await lookUps()));
    report('peak memory of the service', memory());
    const child = spawn(process.execPath, [CLI, 'opt-out', 'import', list, '--location', LOCATION], {
      env: {
        ...process.env,
        FOOTBRIDGE_OPERATOR_URL: service.operatorUrl,
        OPERATOR_TOKEN: service.operatorToken,
      },
      stdio: ['ignore', 'inherit', 'inherit'],
    });
    let ended = false;
    let cliMb = 0;
    const start = performance.now();
    void once(child, 'exit').then(() => (ended = true));
    const times = await probe(service, () => {
      if (!ended && child.pid !== undefined) cliMb = residentMb(child.pid);
      return ended;
    });
    report(`import of ${rows} numbers`, `${((performance.now() - start) / 1000).toFixed(1)} s`);
    report('GET /livez meanwhile', spread(times));
    report('peak memory of the service', memory());
    report('peak memory of the command', `${cliMb} MB`);
    report(`webhook, list of ${rows}`, spread(await lookUps()));
  } finally {
    await cleanup.run();
  }
}

const { values } = parseArgs({ options: { rows: { type: 'string', default: '1000000' } } });
await run(Number(values.rows));
