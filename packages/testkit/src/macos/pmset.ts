import type { CommandResult } from './command-result.ts';

/** A desktop Mac with the defaults of Apple: it sleeps. */
const DEFAULT_SETTINGS: Readonly<Record<string, number>> = {
  standby: 0,
  womp: 1,
  powernap: 1,
  networkoversleep: 0,
  disksleep: 10,
  sleep: 1,
  hibernatemode: 0,
  ttyskeepawake: 1,
  displaysleep: 10,
  tcpkeepalive: 1,
};

/** `pmset`: the power settings. Only reads them: a change needs root. */
export class Pmset {
  #settings = DEFAULT_SETTINGS;

  configure(settings: Readonly<Record<string, number>>): void {
    this.#settings = { ...this.#settings, ...settings };
  }

  run(args: readonly string[]): CommandResult {
    if (args[0] !== '-g') return { stderr: "'pmset' must be run as root...\n", exitCode: 1 };
    if (args[1] === undefined)
      return { stdout: `System-wide power settings:\nCurrently in use:\n${this.#table()}` };
    if (args[1] === 'custom') return { stdout: `AC Power:\n${this.#table()}` };
    return { stderr: 'Error: unknown argument\n', exitCode: 64 };
  }

  #table(): string {
    return Object.entries(this.#settings)
      .map(([name, value]) => ` ${name.padEnd(20)} ${value}\n`)
      .join('');
  }
}
