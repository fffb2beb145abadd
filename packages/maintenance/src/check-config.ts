import { readFileSync } from 'node:fs';
import { parseEnv } from 'node:util';

import type { ConfigSummary } from '@footbridge/protocol/maintenance';
import type { Environment } from '@footbridge/runtime/settings';
import { StartError } from '@footbridge/service/platform/errors';
import { SETTINGS, inspectConfig } from '@footbridge/service/config';
import { namesOutsideSettings } from '@footbridge/service/platform/settings/unknown-settings';
import { settingsKeys } from '@footbridge/service/relay/keys/settings-keys';
import type { KeySettings } from '@footbridge/service/relay/keys/settings-keys';

/** Checks all settings as the service does at start, without opening databases or ports. Every name in `envFile` should be a setting. */
export function checkConfig(env: Environment, envFile: string): ConfigSummary {
  const { config, problems, warnings, summary } = inspectConfig(env);
  const inFile = namesOutsideSettings(SETTINGS, Object.keys(readEnvFile(envFile)));
  return {
    problems: [...problems, ...(config === undefined ? [] : keyProblems(config))],
    warnings: [...new Set([...warnings, ...inFile])],
    settings: summary,
  };
}

function keyProblems(settings: KeySettings): readonly string[] {
  try {
    settingsKeys(settings);
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
