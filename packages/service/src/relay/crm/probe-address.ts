import { readJson } from '@footbridge/protocol/read-json';
import type { Clock } from '@footbridge/runtime/clock';

import type { Transport } from './transport-http.ts';

/** What one GET of an address found. */
export type Probe =
  | {
      readonly status: number;
      readonly ms: number;
      /** The time that the response carries. */
      readonly date: number | null;
      /** The body, if it is JSON. */
      readonly json: unknown;
    }
  | { readonly status: 0; readonly ms: number; readonly code: string };

/** Calls an address once, as the service calls the CRM: with its proxies, and with verification of certificates. */
export async function probeAddress(
  { transport, clock }: { readonly transport: Transport; readonly clock: Clock },
  address: string,
): Promise<Probe> {
  const { origin, pathname } = new URL(address);
  const started = clock.monotonic();
  const response = await transport.send({
    origin,
    method: 'GET',
    path: pathname,
    headers: [],
    wantsBody: true,
  });
  const ms = Math.round(clock.monotonic() - started);
  if ('reason' in response) return { status: 0, ms, code: response.code ?? response.reason };
  const date = Date.parse(response.headers.get('date') ?? '');
  return {
    status: response.status,
    ms,
    date: Number.isNaN(date) ? null : date,
    json: readJson(response.text),
  };
}
