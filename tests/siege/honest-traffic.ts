import { performance } from 'node:perf_hooks';

import { OTHER_LOCATION } from '../contract/test-bridge.ts';
import type { TestBridge } from '../contract/test-bridge.ts';

export interface HonestTraffic {
  /** Status → number of responses. */
  readonly statuses: Readonly<Record<number, number>>;
  readonly p99Ms: number;
}

/** Sends webhooks of a tenant that has nothing to do with an attack, one after the other. Its Mac is connected. */
export async function honestTraffic(bridge: TestBridge, webhooks = 20): Promise<HonestTraffic> {
  const statuses: Record<number, number> = {};
  const times: number[] = [];
  for (let sent = 0; sent < webhooks; sent++) {
    const since = performance.now();
    const { status = 0 } = await bridge.webhook({ locationId: OTHER_LOCATION });
    times.push(performance.now() - since);
    statuses[status] = (statuses[status] ?? 0) + 1;
  }
  return { statuses, p99Ms: quantile(times, 0.99) };
}

export function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
}
