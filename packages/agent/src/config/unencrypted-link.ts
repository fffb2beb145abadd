import { isLoopbackAddress } from '@footbridge/runtime/public-address';

export interface UnencryptedLink {
  readonly detail: string;
  readonly next: string;
}

/** Returns what is wrong with an address at which the texts and the device token travel unencrypted to another machine. */
export function unencryptedLink(url: string): UnencryptedLink | undefined {
  const { protocol, hostname, origin } = new URL(url);
  const isThisMachine = hostname === 'localhost' || isLoopbackAddress(hostname.replace(/^\[|\]$/g, ''));
  if (protocol !== 'http:' || isThisMachine) return undefined;
  return {
    detail: `${origin} is not encrypted: others on the network can read the texts and the device token of this Mac`,
    next: 'Ask the operator of the service for its https:// address',
  };
}
