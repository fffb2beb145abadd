import { join } from 'node:path';

/** The bundle id of the app, and the label of its launch agent. macOS stores permissions under it. */
export const BUNDLE_ID = 'com.footbridge.agent';

/** Where an installed agent lives. The launcher of the app contains the path of `current`. */
export interface Layout {
  readonly app: string;
  /** Program versions, and the data folder of the agent. */
  readonly support: string;
  readonly versions: string;
  /** A link to the version that runs. */
  readonly current: string;
  /** The property list that makes launchd start the app at login. */
  readonly launchAgent: string;
  /** While this file exists, launchd does not start the agent again. The command `run` writes the file. */
  readonly stayAway: string;
  readonly logs: string;
  readonly logFile: string;
  /** Folders outside of `support` in which the agent keeps temporary files. */
  readonly temporary: readonly string[];
}

export function layoutOf(home: string): Layout {
  const library = join(home, 'Library');
  const support = join(library, 'Application Support', 'Footbridge');
  const logs = join(library, 'Logs', 'Footbridge');
  return {
    app: join(home, 'Applications', 'Footbridge Agent.app'),
    support,
    versions: join(support, 'versions'),
    current: join(support, 'current'),
    launchAgent: join(library, 'LaunchAgents', `${BUNDLE_ID}.plist`),
    stayAway: join(support, 'stay-away'),
    logs,
    logFile: join(logs, 'agent.log'),
    temporary: [
      join(library, 'Caches', 'Footbridge'),
      join(library, 'Messages', '.send-staging'),
      join(library, 'Containers/com.apple.MobileSMS/Data/tmp/footbridge'),
      join(home, 'Pictures', '.footbridge'),
    ],
  };
}
