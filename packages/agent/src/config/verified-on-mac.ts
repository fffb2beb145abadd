/** What a selftest record of a real Mac verified. docs/mac-verified.md has the same table. */
export interface VerifiedCapability {
  readonly capability: string;
  /** The versions of macOS with a record. */
  readonly macos: readonly string[];
}

/** Capabilities of the engine for Macs. None has a record yet. */
export const VERIFIED_ON_MAC: readonly VerifiedCapability[] = [
  { capability: 'text', macos: [] },
  { capability: 'attachments', macos: [] },
  { capability: 'groups', macos: [] },
  { capability: 'voice', macos: [] },
  { capability: 'replies', macos: [] },
  { capability: 'animations', macos: [] },
  { capability: 'reactions', macos: [] },
  { capability: 'emoji-reactions', macos: [] },
];

/** Returns those of the capabilities that no record verified. */
export function notVerified(capabilities: readonly string[]): string[] {
  const verified = VERIFIED_ON_MAC.filter(({ macos }) => macos.length > 0);
  return capabilities.filter((name) => !verified.some(({ capability }) => capability === name));
}
