import { readFileSync } from 'node:fs';

import type { KeyInput, Scheme } from './keys.ts';
import { readPublicKey } from './read-public-key.ts';

interface Preset {
  readonly label: string;
  readonly scheme: Scheme;
  readonly header: string;
  readonly file: string;
  /** SHA-256 of the SPKI. Copies of these keys with a missing letter are in circulation. */
  readonly fingerprint: string;
}

/** Keys that CRMs publish, by preset name. */
const PRESETS = {
  highlevel: {
    label: 'HighLevel',
    scheme: 'Ed25519',
    header: 'X-GHL-Signature',
    file: 'highlevel-ed25519.pem',
    fingerprint: '5a2c1b2749d3efcc233fb27d4ab43d56b8d20818c42cd226f6c9a3ff20d3097c',
  },
  'highlevel-legacy': {
    label: 'HighLevel (legacy)',
    scheme: 'RSA-SHA256',
    header: 'X-WH-Signature',
    file: 'highlevel-rsa.pem',
    fingerprint: '2f62045d413b1b7747e26770ce7f57840cbf86288cd20ceb90d299a62501fd25',
  },
} as const satisfies Record<string, Preset>;

export type PresetName = keyof typeof PRESETS;
export const PRESET_NAMES = Object.keys(PRESETS) as readonly PresetName[];

export function presetKey(name: PresetName): KeyInput {
  const { label, scheme, header, file, fingerprint }: Preset = PRESETS[name];
  const publicKey = readFileSync(new URL(`presets/${file}`, import.meta.url), 'utf8');
  const read = readPublicKey(publicKey, scheme);
  if ('problem' in read || read.fingerprint !== fingerprint)
    throw new Error(`the preset ${name} is damaged: ${file} does not match its fingerprint`);
  return { label, scheme, header, publicKey };
}
