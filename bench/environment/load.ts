// The load generator: sends signed webhooks over keep-alive connections, in a closed loop or at a fixed rate.
import { constants, getPriority, setPriority } from 'node:os';

import { ed25519Key, signedRequest } from '@footbridge/testkit/keys';
import type { SignedRequest, SigningKey } from '@footbridge/testkit/keys';
import { Pool } from 'undici';

import { messageId, now, phoneOf } from './messages.ts';
import { serve } from './worker.ts';

/**
 * `signed`: a valid request. `unsigned`: the signature header is `N/A`, which the format check rejects. `forged`: a
 * signature by an untrusted key, which only the full verification rejects.
 */
export type Kind = 'signed' | 'unsigned' | 'forged';

export interface LoadResult {
  /** Milliseconds on the shared clock when request i was sent. */
  readonly sentAt: Float64Array;
  /** Milliseconds until its response was read. */
  readonly latencyMs: Float64Array;
  /** The number of responses by HTTP status. */
  readonly statuses: Record<string, number>;
}

export interface Batch {
  readonly run: number;
  readonly count: number;
  readonly locations: readonly string[];
  readonly kind: Kind;
  readonly key: SigningKey;
}

const BODY_BYTES = 600;
const FILLER = 'The appointment is confirmed; reply STOP to end these texts. '.repeat(10);
const untrustedKey = ed25519Key();

function webhook({ run, kind, key }: Batch, index: number, locationId: string): SignedRequest {
  const fields = {
    contactId: `contact${locationId}`,
    locationId,
    messageId: messageId(run, index),
    type: 'SMS',
    phone: phoneOf(locationId),
    userId: 'userOfTheBench',
    attachments: [],
    message: '',
  };
  const message = FILLER.slice(0, BODY_BYTES - JSON.stringify(fields).length);
  const signature = kind === 'unsigned' ? { signature: 'N/A' } : {};
  return signedRequest({ ...fields, message }, kind === 'forged' ? untrustedKey : key, signature);
}

let requests: SignedRequest[] = [];

/** Runs `drive` with a function that sends the next request to the next URL, each of which has connections of its own. */
async function sendAll(
  urls: readonly string[],
  drive: (sendNext: () => Promise<void>) => Promise<unknown>,
): Promise<LoadResult> {
  const pools = urls.map((url) => new Pool(url));
  const sentAt = new Float64Array(requests.length);
  const latencyMs = new Float64Array(requests.length);
  const statuses: Record<string, number> = {};
  let next = 0;
  const sendNext = async () => {
    const index = next++;
    const [pool, request] = [pools[index % pools.length], requests[index]];
    if (pool === undefined || request === undefined) return;
    sentAt[index] = now();
    const { statusCode, body } = await pool.request({ path: '/crm/webhook', ...request });
    await body.dump();
    latencyMs[index] = now() - (sentAt[index] ?? 0);
    statuses[statusCode] = (statuses[statusCode] ?? 0) + 1;
  };
  try {
    await drive(sendNext);
  } finally {
    await Promise.all(pools.map((pool) => pool.destroy()));
  }
  return { sentAt, latencyMs, statuses };
}

const calls = {
  /** Builds and signs the next requests, round robin over the locations. */
  prepare(batch: Batch) {
    requests = Array.from({ length: batch.count }, (_, index) =>
      webhook(batch, index, batch.locations[index % batch.locations.length] ?? ''),
    );
  },

  /** Sends `concurrency` requests at a time, each after the response to an earlier one. */
  closedLoop: (url: string | readonly string[], concurrency: number): Promise<LoadResult> =>
    sendAll([url].flat(), (sendNext) => {
      let left = requests.length;
      const one = async () => {
        while (left-- > 0) await sendNext();
      };
      return Promise.all(Array.from({ length: concurrency }, one));
    }),

  /** Sends `rate` requests per second (open loop): slow responses open more connections and do not delay other requests. */
  fixedRate(url: string, rate: number): Promise<LoadResult> {
    preferThisProcess(true);
    return sendAll([url], async (sendNext) => {
      const sending: Promise<void>[] = [];
      const started = now();
      await new Promise<void>((resolve) => {
        const timer = setInterval(() => {
          const due = Math.floor(((now() - started) / 1000) * rate);
          while (sending.length < Math.min(due, requests.length)) sending.push(sendNext());
          if (sending.length < requests.length) return;
          clearInterval(timer);
          resolve();
        }, 1);
      });
      await Promise.all(sending);
    }).finally(() => preferThisProcess(false));
  },
};

const USUAL_PRIORITY = getPriority();

/** The CRM and the Macs run on the same core: without priority, the latency would include the time that this process waits for it. */
function preferThisProcess(isPreferred: boolean): void {
  try {
    setPriority(isPreferred ? constants.priority.PRIORITY_HIGHEST : USUAL_PRIORITY);
  } catch (error) {
    if (isPreferred) console.log('note: latencies include waits of the load generator:', error);
  }
}

export type LoadCalls = typeof calls;

serve(calls);
