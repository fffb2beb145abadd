import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { existsSync } from 'node:fs';

import type { JobRunner, JobState } from './launchctl.ts';

/** Launchd waits ten seconds before it starts a job again. A test should not. */
const THROTTLE_MS = 100;

/** Runs the programs of launch agents, and starts them again as their property lists say. */
export class Launchd implements JobRunner {
  readonly #processes = new Map<string, ChildProcess>();
  readonly #scheduled = new Set<ChildProcess>();
  readonly #home: string;

  constructor(home: string) {
    this.#home = home;
  }

  start(label: string, plist: string): number | undefined {
    this.stop(label);
    const [program = '', ...args] = stringsOf(
      /<key>ProgramArguments<\/key>\s*<array>([^]*?)<\/array>/.exec(plist)?.[1],
    );
    const stayAway = /<key>PathState<\/key>\s*<dict>\s*<key>([^<]*)<\/key>\s*<false\/>/.exec(plist)?.[1];
    const child = spawn(program, args, {
      stdio: 'ignore',
      env: { PATH: process.env['PATH'], HOME: this.#home },
    });
    child.on('error', () => undefined);
    this.#processes.set(label, child);
    child.once('exit', () => {
      if (stayAway === undefined || existsSync(stayAway)) return;
      this.#scheduled.add(child);
      setTimeout(() => {
        this.#scheduled.delete(child);
        if (this.#processes.get(label) === child) this.start(label, plist);
      }, THROTTLE_MS);
    });
    return child.pid;
  }

  state(label: string): JobState {
    const child = this.#processes.get(label);
    if (child === undefined) return 'not running';
    if (this.#scheduled.has(child)) return 'spawn scheduled';
    return child.exitCode === null && child.signalCode === null ? 'running' : 'not running';
  }

  /** Ends the program of the job, but not an app that the program opened. */
  stop(label: string): void {
    const child = this.#processes.get(label);
    this.#processes.delete(label);
    child?.kill('SIGKILL');
  }

  stopAll(): void {
    for (const label of this.#processes.keys()) this.stop(label);
  }
}

function stringsOf(array = ''): string[] {
  return Array.from(array.matchAll(/<string>([^<]*)<\/string>/g), ([, text = '']) =>
    text.replaceAll('&lt;', '<').replaceAll('&gt;', '>').replaceAll('&amp;', '&'),
  );
}
