import { resolve } from 'node:path';

import { nameOf, readSettings as readTable } from '@footbridge/runtime/settings';
import type { Environment, Flags, Setting, Settings as SettingsOf } from '@footbridge/runtime/settings';

import { readSavedSettings } from './saved-settings.ts';
import { SETTINGS } from './settings.ts';

export type Settings = SettingsOf<typeof SETTINGS>;

/** The settings of `run`, complete. */
export interface AgentConfig extends Settings {
  readonly url: string;
  readonly location: NonNullable<Settings['location']>;
}

export type ReadResult<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly problems: readonly string[] };

/** A flag overrides its variable, and a variable overrides the saved setting in the data folder. */
export function readSettings(flags: Flags, env: Environment): ReadResult<Settings> {
  const { settings, problems } = readWithSaved(flags, env);
  return settings === undefined ? { ok: false, problems } : { ok: true, value: settings };
}

/** `dataDir` is usually known even when other settings are invalid. */
export type ReadConfig = ReadResult<AgentConfig> & { readonly dataDir: string | undefined };

/** Like `readSettings`, but fails without the settings that the agent needs to connect. */
export function readConfig(flags: Flags, env: Environment): ReadConfig {
  const { settings, valid, origins, problems } = readWithSaved(flags, env);
  const missing = [SETTINGS.url, SETTINGS.location].filter(({ name }) => origins.get(name) === 'unset');
  const all = [...problems, ...missing.map((setting) => `${nameOf(setting)} is missing`)];
  const { url, location } = valid;
  const dataDir = valid.dataDir === undefined ? undefined : resolve(valid.dataDir);
  if (settings === undefined || url === undefined || location === undefined || dataDir === undefined)
    return { ok: false, problems: all, dataDir };
  return { ok: true, value: { ...settings, url, location, dataDir }, dataDir };
}

function readWithSaved(flags: Flags, env: Environment): ReturnType<typeof readTable<typeof SETTINGS>> {
  const { dataDir } = readTable(SETTINGS, env, flags).valid;
  const saved = dataDir === undefined ? {} : readSavedSettings(dataDir);
  if (typeof saved !== 'string') return readTable(SETTINGS, { ...saved, ...env }, flags);
  const read = readTable(SETTINGS, env, flags);
  return { ...read, settings: undefined, problems: [saved, ...read.problems] };
}

/** Returns the settings in force for the first log line, with secrets masked. */
export function summary(settings: Settings | AgentConfig): Readonly<Record<string, unknown>> {
  const entries = Object.entries<Setting>(SETTINGS).map(([name, setting]): [string, unknown] => {
    const value: unknown = Object.entries(settings).find(([key]) => key === name)?.[1];
    return [name, setting.secret === true && value !== undefined ? 'given' : value];
  });
  return Object.fromEntries(entries.filter(([, value]) => value !== undefined));
}
