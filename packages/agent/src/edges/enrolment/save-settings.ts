import { readSavedSettings, savedSettingsPath } from '../../config/saved-settings.ts';
import { writePrivateFile } from './private-file.ts';

/** Adds settings to the saved ones in the data folder. Later starts use them. */
export async function saveSettings(
  dataDir: string,
  settings: Readonly<Record<string, string>>,
): Promise<void> {
  const saved = readSavedSettings(dataDir);
  const all = { ...(typeof saved === 'string' ? {} : saved), ...settings };
  await writePrivateFile(savedSettingsPath(dataDir), `${JSON.stringify(all, null, 2)}\n`);
}
