import type { IncomingMessage } from 'node:http';
import { BlockList, isIP } from 'node:net';

export type TrustProxy = false | number | string[];

const NAMED: Record<string, readonly (readonly [string, number, 'ipv4' | 'ipv6'])[]> = {
  loopback: [
    ['127.0.0.0', 8, 'ipv4'],
    ['::1', 128, 'ipv6'],
  ],
  linklocal: [
    ['169.254.0.0', 16, 'ipv4'],
    ['fe80::', 10, 'ipv6'],
  ],
  uniquelocal: [
    ['10.0.0.0', 8, 'ipv4'],
    ['172.16.0.0', 12, 'ipv4'],
    ['192.168.0.0', 16, 'ipv4'],
    ['fc00::', 7, 'ipv6'],
  ],
};

/** Whether the proxy at `address`, `hop` hops away, is trusted to name the client. */
export type Trusts = (address: string, hop: number) => boolean;

export function trusts(setting: TrustProxy): Trusts {
  if (setting === false) return () => false;
  if (typeof setting === 'number') return (_address, hop) => hop < setting;
  const list = new BlockList();
  for (const entry of setting) {
    const [address = '', bits] = entry.split('/');
    const family = isIP(address) === 6 ? 'ipv6' : 'ipv4';
    const networks = NAMED[entry] ?? [
      [address, Number(bits ?? (family === 'ipv6' ? 128 : 32)), family] as const,
    ];
    for (const [network, prefix, kind] of networks) list.addSubnet(network, prefix, kind);
  }
  return (address) => isIP(address) !== 0 && list.check(address, isIP(address) === 6 ? 'ipv6' : 'ipv4');
}

/** Returns the client's address (L7): the socket's, or the last one in X-Forwarded-For that only trusted proxies appended to. */
export function clientAddress(request: IncomingMessage, trusted: Trusts): string {
  let address = unmapped(request.socket.remoteAddress ?? '');
  const forwarded = request.headers['x-forwarded-for'];
  if (forwarded === undefined || !trusted(address, 0)) return address;
  const hops = String(forwarded).split(',').toReversed();
  for (let hop = 0; hop < hops.length && trusted(address, hop); hop++) {
    const next = unmapped((hops[hop] ?? '').trim());
    if (isIP(next) === 0) break;
    address = next;
  }
  return address;
}

const unmapped = (address: string) =>
  address.startsWith('::ffff:') && address.includes('.') ? address.slice(7) : address;

/** Returns the key that rate limits use for an address. An IPv6 client owns at least a /64, so the /64 is the key. */
export function addressKey(address: string): string {
  // Fast path for IPv4.
  if (!address.includes(':') || isIP(address) !== 6) return address;
  const [head = '', tail] = address.split('%')[0]?.split('::') ?? [];
  const left = head === '' ? [] : head.split(':');
  const right = tail === undefined || tail === '' ? [] : tail.split(':');
  const zeros = tail === undefined ? 0 : 8 - left.length - right.length;
  const groups = [...left, ...Array.from({ length: Math.max(0, zeros) }, () => '0'), ...right];
  return `${groups
    .slice(0, 4)
    .map((group) => Number.parseInt(group, 16).toString(16))
    .join(':')}::/64`;
}
