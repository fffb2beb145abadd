// A worker thread that sends the webhooks of an honest tenant at a constant rate: the attackers' own work must not delay it.
import { performance } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { parentPort, workerData } from 'node:worker_threads';

export interface HonestRequests {
  readonly url: string;
  readonly perSec: number;
  readonly requests: readonly { readonly body: string; readonly headers: Record<string, string> }[];
}

export interface SentRequest {
  /** 0 without a response. */
  readonly status: number;
  readonly ms: number;
}

const { url, perSec, requests } = workerData as HonestRequests;

async function send(init: HonestRequests['requests'][number]): Promise<SentRequest> {
  const since = performance.now();
  const { status } = await fetch(url, { method: 'POST', ...init }).catch(() => ({ status: 0 }));
  return { status, ms: performance.now() - since };
}

const sent: Promise<SentRequest>[] = [];
const [first, ...others] = requests;
// Not measured: the first request of a thread also loads its HTTP client.
if (first !== undefined) await send(first);
for (const request of others) {
  sent.push(send(request));
  await sleep(1000 / perSec);
}
parentPort?.postMessage(await Promise.all(sent), []);
