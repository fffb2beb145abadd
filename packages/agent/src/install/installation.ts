import { rm, rmdir } from 'node:fs/promises';
import { homedir } from 'node:os';
import { dirname } from 'node:path';

import { systemPrograms } from '../config/system-programs.ts';
import type { SystemPrograms } from '../config/system-programs.ts';
import { LaunchAgent } from './launch-agent.ts';
import { layoutOf } from './layout.ts';
import type { Layout } from './layout.ts';

/** The installation on this Mac. */
export interface Installation {
  readonly layout: Layout;
  readonly programs: SystemPrograms;
  readonly launchAgent: LaunchAgent;
}

/** Returns undefined when this machine is not a Mac. `folder` has replacements for programs of macOS. */
export function thisInstallation(folder: string | undefined): Installation | undefined {
  if (process.platform !== 'darwin' && folder === undefined) return undefined;
  const layout = layoutOf(homedir());
  const programs = systemPrograms(folder);
  return { layout, programs, launchAgent: new LaunchAgent({ layout, programs }) };
}

/** Removes every file of the agent. The agent must have stopped. */
export async function removeFiles({ app, support, logs, temporary }: Layout): Promise<void> {
  for (const path of [app, support, logs, ...temporary]) await rm(path, { recursive: true, force: true });
  // Most users have no Applications folder of their own: the installation created it.
  await rmdir(dirname(app)).catch(() => undefined);
}
