import { checkAgainst, list, nullable, strict } from '@footbridge/protocol/schema';
import { readRegularFile } from '@footbridge/runtime/regular-file';

import { StartError } from '../../platform/errors.ts';
import type { ValuesOf } from '../../platform/settings/setting.ts';
import { checkKey } from './check-key.ts';
import type { KeyRecord, KeyInput } from './keys.ts';
import type { KEYS } from './settings.ts';

export type KeySettings = Omit<ValuesOf<typeof KEYS>, 'unsignedPerMinute'>;

const TEXT = { type: 'string' } as const;
const FILE = list(
  strict({ label: TEXT, scheme: TEXT, header: TEXT, publicKey: TEXT }, { locations: nullable(list(TEXT)) }),
);

/** Returns the keys of the settings (S5), which the operator API cannot change. Throws StartError with all problems at once. */
export function settingsKeys(settings: KeySettings): readonly KeyRecord[] {
  const problems: string[] = [];
  const submitted = [...fromVariables(settings), ...fromFile(settings.keysFile, problems)];
  const keys = submitted.flatMap(({ origin, key }) => {
    const checked = checkKey(key);
    if (checked.ok)
      return [
        {
          ...checked.key,
          id: `settings-${checked.key.fingerprint.slice(0, 16)}-${checked.key.header.toLowerCase()}`,
          enabled: true,
          createdAt: 0,
        },
      ];
    problems.push(`${origin}: ${checked.problem.reason}`);
    return [];
  });
  if (problems.length > 0) throw new StartError(problems, 3);
  return keys.filter((key, at) => keys.findIndex(({ id }) => id === key.id) === at);
}

interface Submitted {
  readonly origin: string;
  readonly key: KeyInput;
}

function fromVariables({ publicKey, legacyPublicKey }: KeySettings): Submitted[] {
  const keys: Submitted[] = [];
  if (publicKey !== undefined)
    keys.push({
      origin: 'CRM_PUBLIC_KEY',
      key: { label: 'CRM_PUBLIC_KEY', scheme: 'Ed25519', header: 'X-CRM-Signature', publicKey },
    });
  if (legacyPublicKey !== undefined)
    keys.push({
      origin: 'CRM_LEGACY_PUBLIC_KEY',
      key: {
        label: 'CRM_LEGACY_PUBLIC_KEY',
        scheme: 'RSA-SHA256',
        header: 'X-WH-Signature',
        publicKey: legacyPublicKey,
      },
    });
  return keys;
}

function fromFile(path: string | undefined, problems: string[]): Submitted[] {
  if (path === undefined) return [];
  try {
    const checked = checkAgainst(FILE, JSON.parse(readRegularFile(path)));
    if (!checked.ok) problems.push(`CRM_KEYS_FILE: ${checked.path || 'the file'}: must be ${checked.rule}`);
    else if (checked.value.length === 0)
      problems.push('CRM_KEYS_FILE: the file: has no keys; list at least one, or remove the setting');
    else return checked.value.map((key, at) => ({ origin: `CRM_KEYS_FILE entry ${at + 1}`, key }));
  } catch (error) {
    problems.push(
      error instanceof SyntaxError
        ? 'CRM_KEYS_FILE is not JSON: it must be a list of {label, scheme, header, publicKey, locations?}'
        : 'CRM_KEYS_FILE names a file that cannot be read; check that it is a regular file, its path and its permissions',
    );
  }
  return [];
}
