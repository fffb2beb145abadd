import type { CommandResult } from './command-result.ts';

/** A program in the log: its identifier and its path. */
export interface LoggedProgram {
  readonly identifier: string;
  readonly path: string;
}

const TERMINAL: LoggedProgram = {
  identifier: 'com.apple.Terminal',
  path: '/System/Applications/Utilities/Terminal.app/Contents/MacOS/Terminal',
};

/** `log show` for the subsystem com.apple.TCC: the program to which macOS attributes each use of a permission by `osascript`. */
export class PrivacyLog {
  readonly #responsible: () => LoggedProgram | undefined;
  readonly #lines: string[] = [];

  /** `responsible`: the app that started the running agent. Undefined: it was started in Terminal. */
  constructor(responsible: () => LoggedProgram | undefined) {
    this.#responsible = responsible;
  }

  /** Records that a process of `osascript` used a permission. */
  record(pid: number): void {
    const { identifier, path } = this.#responsible() ?? TERMINAL;
    const responsible = `identifier=${identifier}, pid=470, auid=501, euid=501, responsible_path=${path}, binary_path=${path}`;
    const requesting = `identifier=com.apple.osascript, pid=${pid}, auid=501, euid=501, binary_path=/usr/bin/osascript`;
    this.#lines.push(
      `AUTHREQ_ATTRIBUTION: msgID=${pid}.1, attribution={responsible={TCCDProcess: ${responsible}}, requesting={TCCDProcess: ${requesting}}, },`,
    );
  }

  /** Prints the lines that have every text after `CONTAINS` in the predicate. */
  run(args: readonly string[]): CommandResult {
    const predicate = args[args.indexOf('--predicate') + 1] ?? '';
    if (args[0] !== 'show' || !predicate.includes('subsystem == "com.apple.TCC"'))
      return { stderr: 'log: only the subsystem com.apple.TCC is simulated\n', exitCode: 64 };
    const texts = [...predicate.matchAll(/CONTAINS "([^"]*)"/g)].map(([, text = '']) => text);
    const found = this.#lines.filter((line) => texts.every((text) => line.includes(text)));
    const heading = 'Timestamp               Ty Process[PID:TID]';
    const rows = found.map(
      (line) => `2026-01-01 00:00:00.000 Df tccd[412:1a2b] [com.apple.TCC:access] ${line}`,
    );
    return { stdout: `${[heading, ...rows].join('\n')}\n` };
  }
}
