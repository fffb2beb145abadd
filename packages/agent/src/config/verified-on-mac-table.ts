/**
 * The versions of macOS on which a selftest verified each capability, separated by commas. Made from the records in
 * packages/agent/fixtures/selftest by `npm run check -- --write`.
 */
export const VERIFIED_ON_MAC: readonly { readonly capability: string; readonly macos: string }[] = [
  { capability: 'text', macos: '' },
  { capability: 'attachments', macos: '' },
  { capability: 'groups', macos: '' },
  { capability: 'voice', macos: '' },
  { capability: 'replies', macos: '' },
  { capability: 'animations', macos: '' },
  { capability: 'reactions', macos: '' },
  { capability: 'emoji-reactions', macos: '' },
];
