import { mkdir, rename, rm, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';

import type { SystemPrograms } from '../config/system-programs.ts';
import { BUNDLE_ID } from './layout.ts';
import type { Layout } from './layout.ts';
import { runProgram } from './run-program.ts';

export interface LaunchAgentDeps {
  readonly layout: Pick<Layout, 'app' | 'launchAgent' | 'stayAway'>;
  readonly programs: Pick<SystemPrograms, 'launchctl' | 'open'>;
}

/** The launchd job that starts the app at login, and again whenever the app ends. */
export class LaunchAgent {
  readonly #deps: LaunchAgentDeps;

  constructor(deps: LaunchAgentDeps) {
    this.#deps = deps;
  }

  /** Writes the property list and starts the app. Resolves with the reason when launchd does not accept it. */
  async install(): Promise<string | undefined> {
    const { launchAgent } = this.#deps.layout;
    await mkdir(dirname(launchAgent), { recursive: true });
    // Replaced atomically: with half a property list, the app would not start at the next login.
    const fresh = `${launchAgent}.new`;
    await writeFile(fresh, propertyList(this.#deps), { flush: true });
    await rename(fresh, launchAgent);
    await this.#launchctl('enable', TARGET);
    await this.#launchctl('bootout', TARGET);
    const { ok, stderr } = await this.#launchctl('bootstrap', DOMAIN, launchAgent);
    return ok ? undefined : stderr.trim();
  }

  async uninstall(): Promise<void> {
    await this.#launchctl('bootout', TARGET);
    await rm(this.#deps.layout.launchAgent, { force: true });
  }

  /** Starts the app if it does not run. */
  async start(): Promise<void> {
    await this.#launchctl('kickstart', TARGET);
  }

  /** `disabled`: the owner switched it off in System Settings, Login Items. */
  async state(): Promise<'loaded' | 'not loaded' | 'disabled'> {
    const { stdout } = await this.#launchctl('print-disabled', DOMAIN);
    const isDisabled = ['disabled', 'true'].some((word) => stdout.includes(`"${BUNDLE_ID}" => ${word}`));
    if (isDisabled) return 'disabled';
    return (await this.#launchctl('print', TARGET)).ok ? 'loaded' : 'not loaded';
  }

  #launchctl(...args: string[]) {
    return runProgram(this.#deps.programs.launchctl, args);
  }
}

const DOMAIN = `gui/${process.getuid?.() ?? 0}`;
const TARGET = `${DOMAIN}/${BUNDLE_ID}`;

/**
 * `open -W` makes the app the responsible process of its children, and ends when the app ends. It hides the exit code of the app, so the
 * agent writes a file when launchd must not start it again.
 */
function propertyList({ layout, programs }: LaunchAgentDeps): string {
  const command = [programs.open, '-W', '-g', '-j', '-a', layout.app];
  return `<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<plist version="1.0">
<dict>
  <key>Label</key>
  <string>${BUNDLE_ID}</string>
  <key>ProgramArguments</key>
  <array>
${command.map((argument) => `    <string>${escaped(argument)}</string>`).join('\n')}
  </array>
  <key>RunAtLoad</key>
  <true/>
  <key>KeepAlive</key>
  <dict>
    <key>PathState</key>
    <dict>
      <key>${escaped(layout.stayAway)}</key>
      <false/>
    </dict>
  </dict>
  <key>ThrottleInterval</key>
  <integer>10</integer>
  <key>LimitLoadToSessionType</key>
  <string>Aqua</string>
</dict>
</plist>
`;
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}
