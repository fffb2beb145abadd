import { isLoopbackAddress } from '@footbridge/runtime/public-address';

export interface UnencryptedLink {
  readonly detail: string;
  readonly next: string;
}

/** Returns the fault of an address to which texts and the device token would travel unencrypted, or undefined for any other address. */
export function unencryptedLink(url: string): UnencryptedLink | undefined {
  const { protocol, hostname, origin } = new URL(url);
  const isThisMachine = hostname === 'localhost' || isLoopbackAddress(hostname.replace(/^\[|\]$/g, ''));
  if (protocol !== 'http:' || isThisMachine) return undefined;
  return {
    detail: `${origin} is not encrypted: others on the network can read the texts and the device token of this Mac`,
    next: 'Ask the operator of the service for its https:// address',
  };
}
