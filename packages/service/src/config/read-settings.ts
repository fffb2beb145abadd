import { readFileSync } from 'node:fs';

import { SETTINGS, SettingError } from './settings.ts';
import type { Setting, SettingName, SettingValue } from './settings.ts';

export type Settings = { readonly [Name in SettingName]: SettingValue<Name> | undefined };

export interface ReadResult {
  readonly settings: Settings;
  /** The source of each value, for the summary at start. */
  readonly origin: ReadonlyMap<string, 'set' | 'file' | 'default' | 'unset'>;
  /** One line per wrong setting, by name. */
  readonly faults: readonly string[];
  readonly warnings: readonly string[];
}

type Environment = Readonly<Record<string, string | undefined>>;

/** Reads every setting and collects all faults. An empty variable counts as not set. */
export function readSettings(env: Environment): ReadResult {
  const faults: string[] = [];
  const origin = new Map<string, 'set' | 'file' | 'default' | 'unset'>();
  const values: Record<string, unknown> = {};
  for (const [key, setting] of Object.entries(SETTINGS)) {
    const given = lookUp(env, setting, faults);
    origin.set(setting.name, given.origin);
    values[key] = given.value === undefined ? undefined : parsed(setting, given.value, faults);
  }
  return { settings: values as Settings, origin, faults, warnings: unknownNames(env) };
}

type Given = { value: string | undefined; origin: 'set' | 'file' | 'default' | 'unset' };

/** The alias or `NAME`, or for secrets and keys `NAME_FILE` with the path of a file that holds the value. */
function lookUp(env: Environment, setting: Setting, faults: string[]): Given {
  const direct = (setting.alias && env[setting.alias]) || env[setting.name];
  const file = env[`${setting.name}_FILE`];
  if (direct !== undefined && direct !== '') return { value: direct, origin: 'set' };
  if (takesFile(setting) && file !== undefined && file !== '') {
    try {
      return { value: readFileSync(file, 'utf8').trim(), origin: 'file' };
    } catch {
      faults.push(`${setting.name}_FILE names a file that cannot be read`);
    }
  }
  return { value: setting.fallback, origin: setting.fallback === undefined ? 'unset' : 'default' };
}

export const takesFile = (setting: Setting): boolean => setting.secret || setting.name.endsWith('PUBLIC_KEY');

function parsed(setting: Setting, value: string, faults: string[]): unknown {
  try {
    return setting.parse(value);
  } catch (error) {
    if (!(error instanceof SettingError)) throw error;
    faults.push(`${setting.name} ${error.message}`);
    return undefined;
  }
}

// Warn about unknown names that look like ours: a typo would otherwise be ignored silently.
const OURS = /^(CRM|RATE_LIMIT|ASSET|MAC|INBOUND|FOOTER|MESSAGE_BODY|LOCATION|OPERATOR)_/;

function unknownNames(env: Environment): string[] {
  const known = Object.values(SETTINGS).flatMap((setting: Setting) =>
    takesFile(setting) ? [setting.name, `${setting.name}_FILE`] : [setting.name],
  );
  return Object.keys(env)
    .filter((name) => OURS.test(name) && !known.includes(name))
    .map((name) => {
      const [closest, distance] = known
        .map((candidate) => [candidate, editDistance(name, candidate)] as const)
        .reduce((best, next) => (next[1] < best[1] ? next : best));
      return `${name} is not a setting${distance <= 5 ? `; did you mean ${closest}?` : ''}`;
    });
}

function editDistance(left: string, right: string): number {
  let row = Array.from({ length: right.length + 1 }, (_, index) => index);
  for (let i = 1; i <= left.length; i++) {
    const next = [i];
    for (let j = 1; j <= right.length; j++) {
      const swap = (row[j - 1] ?? 0) + (left[i - 1] === right[j - 1] ? 0 : 1);
      next.push(Math.min(swap, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row.at(-1) ?? 0;
}
