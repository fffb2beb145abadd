import { readFileSync } from 'node:fs';
import { join } from 'node:path';

import type { Environment } from '@footbridge/runtime/settings';

/** The settings that `setup` and `pair` save in the data folder, by the names of their environment variables. */
export const savedSettingsPath = (dataDir: string): string => join(dataDir, 'settings.json');

/** Returns the saved settings, none without the file, or a message that says why the file cannot be read. */
export function readSavedSettings(dataDir: string): Environment | string {
  const path = savedSettingsPath(dataDir);
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch {
    return {};
  }
  const problem = `${path} must be a JSON object whose values are strings, such as {"FOOTBRIDGE_URL": "https://…"}`;
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return problem;
    const entries = Object.entries(value);
    return entries.every((entry): entry is [string, string] => typeof entry[1] === 'string')
      ? Object.fromEntries(entries)
      : problem;
  } catch {
    return problem;
  }
}
