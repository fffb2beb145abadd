import type { HttpExchange } from '../shapes.ts';

const LEFT_OUT =
  /^(host|connection|content-length|transfer-encoding|user-agent|accept-encoding|accept-language|sec-fetch-mode|keep-alive)$/i;

export interface Addresses {
  readonly serviceUrl: string;
  readonly crmUrl: string;
}

/**
 * The call once more, byte for byte: a webhook's signature stays valid. Undefined when not everything was kept.
 * A token was never kept, so its place is taken by a variable.
 */
export function asCurl(entry: HttpExchange, addresses: Addresses): string | undefined {
  const isWhole = new TextEncoder().encode(entry.requestBody).length === entry.requestBytes;
  if (!isWhole || entry.path.includes('…')) return undefined;
  const base = entry.leg === 'service→crm' ? addresses.crmUrl : addresses.serviceUrl;
  const headers = entry.requestHeaders
    .filter(([name]) => !LEFT_OUT.test(name))
    .map(([name, value]) =>
      /^authorization$/i.test(name) ? `-H "${name}: Bearer $TOKEN"` : `-H ${quoted(`${name}: ${value}`)}`,
    );
  return [
    `curl -i -X ${entry.method} ${quoted(base + entry.path)}`,
    ...headers,
    ...(entry.requestBody === '' ? [] : [`--data-binary ${quoted(entry.requestBody)}`]),
  ].join(' \\\n  ');
}

const quoted = (text: string): string => `'${text.replaceAll("'", String.raw`'\''`)}'`;
