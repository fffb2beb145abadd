import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { join } from 'node:path';

/** Footbridge Agent.app. Its launcher is a program for Macs, so this does what the launcher does: starts `current` in the home folder. */
export class LaunchedApp {
  readonly #home: string;
  #running: ChildProcess | undefined;
  /** How often the app was started. */
  starts = 0;

  constructor(home: string) {
    this.#home = home;
  }

  /** Starts the app unless it runs, and resolves when it ends. */
  async open(app: string): Promise<void> {
    if (!existsSync(join(app, 'Contents/MacOS/footbridge-agent')))
      throw new Error(`There is no app at ${app}`);
    if (this.#running !== undefined) return void (await once(this.#running, 'exit'));
    const support = join(this.#home, 'Library/Application Support/Footbridge');
    const current = join(support, 'current');
    const child = spawn(join(current, 'node'), [join(current, 'agent.mjs'), 'run'], {
      stdio: ['ignore', 'ignore', 'inherit'],
      env: {
        PATH: process.env['PATH'],
        HOME: this.#home,
        FOOTBRIDGE_PROGRAMS: join(this.#home, 'bin'),
        // The default on other systems than macOS is another folder.
        FOOTBRIDGE_AGENT_DIR: support,
      },
    });
    this.starts += 1;
    this.#running = child;
    await once(child, 'exit');
    this.#running = undefined;
  }

  kill(): void {
    this.#running?.kill('SIGKILL');
  }
}
