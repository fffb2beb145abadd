import { fail, text, wholeNumber } from '../../platform/settings/parsers.ts';
import { settingIn } from '../../platform/settings/setting.ts';

/** A PEM in an environment variable often has literal `\n` instead of line breaks. */
const pem = (value: string) => {
  const unfolded = value.replaceAll('\\n', '\n').trim();
  return unfolded.includes('-----BEGIN ') ? unfolded : fail('must be a public key in PEM form');
};

const setting = settingIn('CRM');
const limit = settingIn('Limits');

/** The public keys of the CRM. */
export const KEYS = {
  publicKey: setting(
    'CRM_PUBLIC_KEY',
    undefined,
    pem,
    'One Ed25519 public key (PEM) trusted for the header X-CRM-Signature. More keys: footbridge keys add.',
  ),
  legacyPublicKey: setting(
    'CRM_LEGACY_PUBLIC_KEY',
    undefined,
    pem,
    'One RSA public key (PEM) trusted for the header X-WH-Signature.',
  ),
  keysFile: setting(
    'CRM_KEYS_FILE',
    undefined,
    text,
    'JSON file with a list of keys: label, scheme, header, publicKey and optionally locations.',
  ),
  unsignedPerMinute: limit(
    'RATE_LIMIT_UNSIGNED',
    '600',
    wholeNumber(1, 1_000_000),
    'Webhooks with an invalid signature per minute and address; above it the requests of that address are verified one per tick.',
  ),
} as const;
