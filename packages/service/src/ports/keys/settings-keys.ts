import { readFileSync } from 'node:fs';

import { z } from 'zod';

import { StartError } from '../../errors.ts';
import { checkKey } from './check-key.ts';
import type { KeyRecord, OfferedKey } from './keys.ts';

export interface KeySettings {
  /** CRM_PUBLIC_KEY */
  readonly publicKey: string | undefined;
  /** CRM_LEGACY_PUBLIC_KEY */
  readonly legacyPublicKey: string | undefined;
  /** CRM_KEYS_FILE, a path */
  readonly keysFile: string | undefined;
}

const FILE = z.array(
  z.strictObject({
    label: z.string(),
    scheme: z.string(),
    header: z.string(),
    publicKey: z.string(),
    locations: z.array(z.string()).nullish(),
  }),
);

/** The keys that come from the settings (S5). They cannot be changed at run time; all their faults are reported at once. */
export function settingsKeys(settings: KeySettings): readonly KeyRecord[] {
  const faults: string[] = [];
  const offers = [...fromVariables(settings), ...fromFile(settings.keysFile, faults)];
  const keys = offers.flatMap(({ origin, offered }) => {
    const checked = checkKey(offered);
    if (checked.ok)
      return [
        {
          ...checked.key,
          id: `settings-${checked.key.fingerprint.slice(0, 16)}-${checked.key.header.toLowerCase()}`,
          enabled: true,
          createdAt: 0,
        },
      ];
    faults.push(`${origin}: ${checked.refusal.reason}`);
    return [];
  });
  if (faults.length > 0) throw new StartError(faults, 3);
  return keys.filter((key, at) => keys.findIndex(({ id }) => id === key.id) === at);
}

interface Offer {
  readonly origin: string;
  readonly offered: OfferedKey;
}

function fromVariables({ publicKey, legacyPublicKey }: KeySettings): Offer[] {
  const offers: Offer[] = [];
  if (publicKey !== undefined)
    offers.push({
      origin: 'CRM_PUBLIC_KEY',
      offered: { label: 'CRM_PUBLIC_KEY', scheme: 'Ed25519', header: 'X-CRM-Signature', publicKey },
    });
  if (legacyPublicKey !== undefined)
    offers.push({
      origin: 'CRM_LEGACY_PUBLIC_KEY',
      offered: {
        label: 'CRM_LEGACY_PUBLIC_KEY',
        scheme: 'RSA-SHA256',
        header: 'X-WH-Signature',
        publicKey: legacyPublicKey,
      },
    });
  return offers;
}

function fromFile(path: string | undefined, faults: string[]): Offer[] {
  if (path === undefined) return [];
  try {
    const parsed = FILE.safeParse(JSON.parse(readFileSync(path, 'utf8')));
    if (parsed.success)
      return parsed.data.map((offered, at) => ({ origin: `CRM_KEYS_FILE entry ${at + 1}`, offered }));
    const [issue] = parsed.error.issues;
    faults.push(
      `CRM_KEYS_FILE: ${issue?.path.join('.') || 'the file'}: ${issue?.message ?? 'has another form'}`,
    );
  } catch (error) {
    faults.push(
      error instanceof SyntaxError
        ? 'CRM_KEYS_FILE is not JSON: it must be a list of {label, scheme, header, publicKey, locations?}'
        : 'CRM_KEYS_FILE names a file that cannot be read',
    );
  }
  return [];
}
