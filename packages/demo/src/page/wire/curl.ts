import { shellQuoted } from '@footbridge/ui/shell-quoted';

import type { HttpExchange } from '../types.ts';

const OMITTED_HEADERS =
  /^(host|connection|content-length|transfer-encoding|user-agent|accept-encoding|accept-language|sec-fetch-mode|keep-alive)$/i;

export interface Addresses {
  readonly serviceUrl: string;
  readonly crmUrl: string;
}

/**
 * Returns a curl command that repeats the call byte for byte, so that a webhook's signature stays valid. Returns undefined
 * if the recorded request is truncated or masked. Tokens are not recorded; the command uses a variable instead.
 */
export function asCurl(entry: HttpExchange, addresses: Addresses): string | undefined {
  const isComplete = new TextEncoder().encode(entry.requestBody).length === entry.requestBytes;
  if (!isComplete || entry.path.includes('…')) return undefined;
  const base = entry.leg === 'service→crm' ? addresses.crmUrl : addresses.serviceUrl;
  const headers = entry.requestHeaders
    .filter(([name]) => !OMITTED_HEADERS.test(name))
    .map(([name, value]) =>
      /^authorization$/i.test(name)
        ? `-H "${name}: Bearer $TOKEN"`
        : `-H ${shellQuoted(`${name}: ${value}`)}`,
    );
  return [
    `curl -i -X ${entry.method} ${shellQuoted(base + entry.path)}`,
    ...headers,
    ...(entry.requestBody === '' ? [] : [`--data-binary ${shellQuoted(entry.requestBody)}`]),
  ].join(' \\\n  ');
}
