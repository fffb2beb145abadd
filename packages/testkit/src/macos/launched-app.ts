import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { bundleOf } from '../bundles.ts';
import type { LoggedProgram } from './privacy-log.ts';

/** Footbridge Agent.app, with its launcher or as an applet. */
export class LaunchedApp {
  readonly #home: string;
  #running: ChildProcess | undefined;
  #executable = '';
  #refusesLauncher = false;
  /** How often the app was started. */
  starts = 0;

  constructor(home: string) {
    this.#home = home;
  }

  /** `refusesLauncher`: macOS starts no program without a developer's certificate, as some companies configure it. */
  configure({ refusesLauncher }: { refusesLauncher: boolean }): void {
    this.#refusesLauncher = refusesLauncher;
  }

  /** The program whose permissions macOS checks for the running agent. Its signature has the name of its file as the identifier. */
  get responsible(): LoggedProgram | undefined {
    const path = this.#executable;
    return this.#running === undefined ? undefined : { identifier: basename(path), path };
  }

  /** Starts the app unless it runs, and with `wait` resolves when it ends. Rejects when macOS does not start it. */
  async open({ app, wait }: { app: string; wait: boolean }): Promise<void> {
    const running = this.#running ?? this.#start(app);
    if (wait) await once(running, 'exit');
  }

  kill(): void {
    const pid = this.#running?.pid;
    if (pid !== undefined) process.kill(-pid, 'SIGKILL');
  }

  #start(app: string): ChildProcess {
    const support = join(this.#home, 'Library/Application Support/Footbridge');
    const [program, ...args] = this.#commandOf(app, join(support, 'current'));
    const child = spawn(program, args, {
      stdio: ['ignore', 'ignore', 'inherit'],
      // In its own process group, so that the child of an applet is killed with it.
      detached: true,
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
    child.once('exit', () => {
      this.#running = undefined;
    });
    return child;
  }

  /** The launcher is a program for Macs, so this does what the launcher does. The script of an applet runs as it is. */
  #commandOf(app: string, current: string): [program: string, ...args: string[]] {
    const read = (path: string) => readFileSync(join(app, 'Contents', path), 'utf8');
    const info = read('Info.plist');
    const executable = /<key>CFBundleExecutable<\/key>\s*<string>([^<]*)/.exec(info)?.[1] ?? '';
    read(join('MacOS', executable));
    this.#executable = join(app, 'Contents/MacOS', executable);
    if (executable !== 'applet') {
      if (this.#refusesLauncher) throw new Error('Launch failed');
      return [join(current, 'node'), join(current, 'agent.mjs'), 'run'];
    }
    if (read('_CodeSignature/CodeResources') !== info)
      throw new Error('The signature of the applet is invalid');
    const main = bundleOf(fileURLToPath(new URL('applet-main.ts', import.meta.url)));
    return [process.execPath, main, join(app, 'Contents/Resources/Scripts/main.scpt')];
  }
}
