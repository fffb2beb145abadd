import { setTimeout as sleep } from 'node:timers/promises';

import type { Cluster } from './cluster.ts';

/** One request of the CRM and its answer. Times are monotonic. */
export interface Attempt {
  readonly askedAt: number;
  readonly answeredAt: number;
  /** Or what went wrong instead. */
  readonly status: number | string;
  readonly requestId: string;
}

export interface Sent {
  readonly messageId: string;
  readonly locationId: string;
  readonly text: string;
  readonly attempts: readonly Attempt[];
}

/** Longer than the first report of a rejection may take when there are several nodes (A11). */
const PAUSE_MS = 1600;
const LONGEST_PAUSE_MS = 3000;

/** Sends one message until it is taken, with the same id every time, as a CRM does. */
export async function sendUntilTaken(
  cluster: Cluster,
  locationId: string,
  message: string,
  messageId: string,
  { random, giveUp }: { random: () => number; giveUp: () => boolean },
): Promise<Sent> {
  const attempts: Attempt[] = [];
  for (let pause = PAUSE_MS; ; pause = Math.min(LONGEST_PAUSE_MS, pause * 1.5)) {
    const askedAt = performance.now();
    const at = Math.floor(random() * cluster.nodes.length);
    const { status, error = 'none', headers } = await cluster.webhook(at, locationId, { message, messageId });
    const requestId = headers?.['x-request-id'] ?? '';
    attempts.push({ askedAt, answeredAt: performance.now(), status: status ?? faultIn(error), requestId });
    if (status === 200 || giveUp()) return { messageId, locationId, text: message, attempts };
    await sleep(pause * (1 + random() / 2));
  }
}

/** Without ports and addresses: `ECONNREFUSED`, `other side closed` … */
const faultIn = (error: string) => /\bE[A-Z]{4,}\b/.exec(error)?.[0] ?? error;
