import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';

import { SETTINGS } from './settings.ts';
import type { Setting, SettingName, SettingValue } from './settings.ts';

export type Settings = { readonly [N in SettingName]: SettingValue<N> | undefined };

/** The settings of `run`, complete. */
export interface AgentConfig extends Omit<
  { readonly [N in SettingName]: SettingValue<N> },
  'license' | 'deviceId'
> {
  readonly license: string | undefined;
  readonly deviceId: string | undefined;
}

export type ReadResult<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly problems: readonly string[] };

type Env = Readonly<Record<string, string | undefined>>;

/** Reads each setting from its flag, else its variable, else its default. Reports all problems at once, by name and without values. */
export function readSettings(flags: Readonly<Record<string, unknown>>, env: Env): ReadResult<Settings> {
  const problems: string[] = [];
  const values: Record<string, unknown> = {};
  for (const [name, setting] of Object.entries<Setting<unknown>>(SETTINGS)) {
    const text = flagText(flags[name]) ?? fromEnv(env, setting, problems) ?? setting.fallback;
    if (text === undefined) continue;
    const value = setting.parse(text);
    if (value === undefined) problems.push(`${nameOf(setting)} ${setting.rule}`);
    values[name] = value;
  }
  return problems.length > 0 ? { ok: false, problems } : { ok: true, value: values as Settings };
}

/** Like `readSettings`, and requires the settings without which the agent cannot connect. */
export function readConfig(flags: Readonly<Record<string, unknown>>, env: Env): ReadResult<AgentConfig> {
  const read = readSettings(flags, env);
  const settings = read.ok ? read.value : undefined;
  const problems = read.ok ? [] : [...read.problems];
  for (const name of ['url', 'location'] as const) {
    const invalid = problems.some((problem) => problem.startsWith(nameOf(SETTINGS[name])));
    if (settings?.[name] === undefined && !invalid && !isGiven(name, flags, env)) {
      problems.push(`${nameOf(SETTINGS[name])} is missing`);
    }
  }
  if (problems.length > 0 || settings === undefined) return { ok: false, problems };
  const { url, location, dataDir } = settings;
  if (url === undefined || location === undefined || dataDir === undefined) return { ok: false, problems };
  const config = { ...settings, url, location, dataDir: resolve(dataDir) };
  return { ok: true, value: config as AgentConfig };
}

/** Returns the settings in force for the first log line, with secrets masked. */
export function summary(settings: Settings | AgentConfig): Readonly<Record<string, unknown>> {
  const entries = Object.entries<Setting<unknown>>(SETTINGS).map(([name, setting]): [string, unknown] => {
    const value: unknown = Object.entries(settings).find(([key]) => key === name)?.[1];
    return [name, setting.secret === true && value !== undefined ? 'given' : value];
  });
  return Object.fromEntries(entries.filter(([, value]) => value !== undefined));
}

function isGiven(name: SettingName, flags: Readonly<Record<string, unknown>>, env: Env): boolean {
  return flagText(flags[name]) !== undefined || (env[SETTINGS[name].env] ?? '') !== '';
}

/** Commander passes `true` for a flag without a value. */
function flagText(flag: unknown): string | undefined {
  if (typeof flag === 'string') return flag;
  return typeof flag === 'boolean' ? String(flag) : undefined;
}

/** An empty variable counts as not set. A secret may come from a file. */
function fromEnv(env: Env, setting: Setting<unknown>, problems: string[]): string | undefined {
  const direct = env[setting.env];
  if (direct !== undefined && direct !== '') return direct;
  const file = setting.secret === true ? env[`${setting.env}_FILE`] : undefined;
  if (file === undefined || file === '') return undefined;
  try {
    return readFileSync(file, 'utf8').trim();
  } catch {
    problems.push(`${setting.env}_FILE names a file that cannot be read; check its path and permissions`);
    return undefined;
  }
}

function nameOf(setting: Setting<unknown>): string {
  const flag = setting.flag?.split(' ')[0];
  return flag === undefined ? setting.env : `${flag} (${setting.env})`;
}
