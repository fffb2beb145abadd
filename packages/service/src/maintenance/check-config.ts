import { readFileSync } from 'node:fs';
import { parseEnv } from 'node:util';

import type { ConfigSummary } from '@footbridge/protocol/maintenance';
import type { Environment } from '@footbridge/runtime/settings';

import { inspectConfig } from '../platform/settings/config.ts';
import type { Config } from '../platform/settings/config.ts';
import { namesOutsideSettings } from '../platform/settings/unknown-settings.ts';
import { StartError } from '../platform/errors.ts';
import { settingsKeys } from '../relay/keys/settings-keys.ts';

/** Checks all settings as the service does at start, without opening databases or ports. Every name in `envFile` should be a setting. */
export function checkConfig(env: Environment, envFile: string): ConfigSummary {
  const { config, problems, warnings, summary } = inspectConfig(env);
  const inFile = namesOutsideSettings(Object.keys(readEnvFile(envFile)));
  return {
    problems: [...problems, ...(config === undefined ? [] : keyProblems(config.crm))],
    warnings: [...new Set([...warnings, ...inFile])],
    settings: summary,
  };
}

function keyProblems(crm: Config['crm']): readonly string[] {
  try {
    settingsKeys(crm);
    return [];
  } catch (error) {
    if (!(error instanceof StartError)) throw error;
    return error.problems;
  }
}

function readEnvFile(file: string): NodeJS.Dict<string> {
  try {
    return parseEnv(readFileSync(file, 'utf8'));
  } catch {
    // The file is optional.
    return {};
  }
}
