import { readSettings } from '@footbridge/runtime/settings';
import type { Environment } from '@footbridge/runtime/settings';

import { ALERTS, alertFindings } from './features/issues/settings.ts';
import { OAUTH, oauthApp, oauthFindings } from './features/oauth/settings.ts';
import { OPT_OUT } from './features/opt-out/settings.ts';
import { REACH } from './features/reach/settings.ts';
import { TRACING } from './features/tracing/settings.ts';
import { StartError } from './platform/errors.ts';
import { HTTP, listenerFindings } from './platform/http/settings.ts';
import { insecure } from './platform/settings/insecure-settings.ts';
import { PROCESS } from './platform/settings/process-settings.ts';
import type { Findings, Given, ValuesOf } from './platform/settings/setting.ts';
import { unknownSettings } from './platform/settings/unknown-settings.ts';
import { STORAGE, databaseOf } from './platform/sql/settings.ts';
import type { DatabaseConfig } from './platform/sql/settings.ts';
import { ACCOUNTS } from './relay/accounts/settings.ts';
import { ASSETS, assetFindings } from './relay/assets/settings.ts';
import { CRM } from './relay/crm/settings.ts';
import { INBOUND } from './relay/inbound/settings.ts';
import { JOURNAL } from './relay/journal/settings.ts';
import { KEYS } from './relay/keys/settings.ts';
import { MACS } from './relay/macs/settings.ts';
import { PEOPLE } from './relay/people/settings.ts';
import { STATUS } from './relay/status/settings.ts';
import { CLUSTER, clusterFindings } from './relay/switchboard/settings.ts';
import { WEBHOOK, channelFindings } from './relay/webhook/settings.ts';

/** The settings of all parts. */
export const SETTINGS = {
  ...HTTP,
  ...STORAGE,
  ...CLUSTER,
  ...JOURNAL,
  ...CRM,
  ...KEYS,
  ...WEBHOOK,
  ...INBOUND,
  ...STATUS,
  ...OPT_OUT,
  ...REACH,
  ...OAUTH,
  ...PEOPLE,
  ...MACS,
  ...ACCOUNTS,
  ...ASSETS,
  ...ALERTS,
  ...TRACING,
  ...PROCESS,
} as const;

export type Config = ValuesOf<typeof SETTINGS>;

const FINDINGS: readonly ((valid: Partial<Config>, given: Given) => Findings)[] = [
  clusterFindings,
  listenerFindings,
  oauthFindings,
  assetFindings,
  alertFindings,
  channelFindings,
];

/** Returns the databases: the main one, and the one of the tokens if it is separate. */
export function databasesOf(config: Config): ReadonlyMap<'main' | 'oauth', DatabaseConfig> {
  const app = oauthApp(config);
  const databases = new Map<'main' | 'oauth', DatabaseConfig>();
  databases.set('main', databaseOf(config.databaseUrl, config.dataDir));
  if (app.state === 'ready' && app.database !== undefined) databases.set('oauth', app.database);
  return databases;
}

export interface LoadedConfig {
  readonly config: Config;
  readonly warnings: readonly string[];
  /** Name → `set` or `file`, for the log at start. */
  readonly summary: Readonly<Record<string, string>>;
}

/** The only reader of the environment. Throws a StartError with exit code 3 that lists all problems by name. */
export function loadConfig(env: Environment): LoadedConfig {
  const { config, problems, ...rest } = inspectConfig(env);
  if (config === undefined) throw new StartError(problems, 3);
  return { config, ...rest };
}

export interface InspectedConfig extends Omit<LoadedConfig, 'config'> {
  /** Undefined when there are problems. */
  readonly config: Config | undefined;
  readonly problems: readonly string[];
}

/** Reads the environment. Returns all problems and warnings instead of throwing. */
export function inspectConfig(env: Environment): InspectedConfig {
  const { settings, valid, origins, problems } = readSettings(SETTINGS, env);
  const summary: Record<string, string> = {};
  for (const [name, from] of origins) if (from === 'set' || from === 'file') summary[name] = from;
  const given: Given = { present: Object.keys(summary), isValid: settings !== undefined };
  const found = FINDINGS.map((find) => find(valid, given));
  const all = [
    ...problems,
    ...found.flatMap((part) => part.problems ?? []),
    ...(valid.allowInsecure === true ? [] : insecure(SETTINGS, valid, [valid.host, valid.adminHost])),
  ];
  return {
    config: all.length > 0 ? undefined : settings,
    problems: all,
    warnings: [
      ...unknownSettings(SETTINGS, env),
      ...found.flatMap((part) => part.warnings ?? []),
      ...ignoredFiles(env),
    ],
    summary,
  };
}

const ignoredFiles = (env: Environment): string[] =>
  Object.values(SETTINGS)
    .filter(({ name, fromFile }) => fromFile === true && env[name] && env[`${name}_FILE`])
    .map(({ name }) => `${name}_FILE has no effect: ${name} is also set and takes precedence`);
