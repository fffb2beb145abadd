import { lookup } from 'node:dns/promises';
import { BlockList, isIP } from 'node:net';
import type { LookupFunction } from 'node:net';

/** Not public, by the IANA special-purpose address registries. */
const NOT_PUBLIC_4 = [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.0.2.0', 24],
  ['192.31.196.0', 24],
  ['192.52.193.0', 24],
  ['192.88.99.0', 24],
  ['192.168.0.0', 16],
  ['192.175.48.0', 24],
  ['198.18.0.0', 15],
  ['198.51.100.0', 24],
  ['203.0.113.0', 24],
  ['224.0.0.0', 4],
  ['240.0.0.0', 4],
] as const;

/** Exceptions within 2000::/3. Everything outside of it is not public. */
const NOT_PUBLIC_6 = [
  ['2001::', 23],
  ['2001:db8::', 32],
  ['2002::', 16],
  ['2620:4f:8000::', 48],
  ['3fff::', 20],
] as const;

const notPublic = new BlockList();
for (const [net, prefix] of NOT_PUBLIC_4) notPublic.addSubnet(net, prefix, 'ipv4');
for (const [net, prefix] of NOT_PUBLIC_6) notPublic.addSubnet(net, prefix, 'ipv6');

const globalUnicast6 = new BlockList();
globalUnicast6.addSubnet('2000::', 3, 'ipv6');

const loopback = new BlockList();
loopback.addSubnet('127.0.0.0', 8, 'ipv4');
loopback.addAddress('::1', 'ipv6');

/**
 * Whether an address is on the public Internet. For IPv6 this is an allow list: mapped and translated IPv4 (`::ffff:`,
 * `64:ff9b::`), unique-local, link-local and multicast addresses are outside of it.
 */
export function isPublicAddress(address: string): boolean {
  const family = isIP(address);
  if (family === 4) return !notPublic.check(address, 'ipv4');
  if (family !== 6) return false;
  return globalUnicast6.check(address, 'ipv6') && !notPublic.check(address, 'ipv6');
}

export function isLoopbackAddress(address: string): boolean {
  const family = isIP(address);
  return family !== 0 && loopback.check(address, family === 4 ? 'ipv4' : 'ipv6');
}

/** Resolves with all addresses of a host. */
export async function resolveAll(host: string): Promise<readonly string[]> {
  const found = await lookup(host, { all: true });
  return found.map((entry) => entry.address);
}

/** Returns a lookup that ignores DNS and returns the addresses that were checked, so that DNS rebinding has no effect. */
export function pinnedTo(addresses: readonly string[]): LookupFunction {
  return (_host, options, callback) => {
    const found = addresses.map((address) => ({ address, family: isIP(address) }));
    if (options.all === true) callback(null, found);
    else callback(null, found[0]?.address ?? '', found[0]?.family ?? 4);
  };
}
