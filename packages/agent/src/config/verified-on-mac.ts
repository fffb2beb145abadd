import { VERIFIED_ON_MAC } from './verified-on-mac-table.ts';

/** Returns the capabilities that no record from a real Mac verified. */
export function notVerified(capabilities: readonly string[]): string[] {
  const verified = VERIFIED_ON_MAC.filter(({ macos }) => macos !== '');
  return capabilities.filter((name) => !verified.some(({ capability }) => capability === name));
}
