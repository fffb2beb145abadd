import type { CommandResult } from './command-result.ts';
import { Defaults } from './defaults.ts';
import { Fdesetup } from './fdesetup.ts';
import { Ioreg } from './ioreg.ts';
import { Launchctl } from './launchctl.ts';
import type { JobRunner } from './launchctl.ts';
import { Pmset } from './pmset.ts';
import { PrivacyLog } from './privacy-log.ts';
import type { LoggedProgram } from './privacy-log.ts';
import { Sysadminctl } from './sysadminctl.ts';

/** How the next calls of a program end instead of doing their work. */
export interface CommandFault extends CommandResult {
  readonly program: SystemProgram;
  /** Only calls that begin with these arguments. Default: all. */
  readonly arguments?: readonly string[];
  /** Default: 1. */
  readonly times?: number;
  /** `hang`: never. `killed`: by a signal, after its output. Default: with its exit code. */
  readonly end?: 'hang' | 'killed';
}

export type SystemProgram =
  | 'defaults'
  | 'fdesetup'
  | 'ioreg'
  | 'launchctl'
  | 'log'
  | 'pmset'
  | 'sysadminctl'
  | 'tccutil';

export type CommandEnd = CommandResult & Pick<CommandFault, 'end'>;

/** The programs of macOS that read and change settings. */
export class SystemCommands {
  readonly defaults = new Defaults();
  readonly fdesetup = new Fdesetup();
  readonly ioreg: Ioreg;
  readonly launchctl: Launchctl;
  readonly log: PrivacyLog;
  readonly pmset = new Pmset();
  readonly sysadminctl = new Sysadminctl();
  /** Only its calls are recorded. */
  readonly tccutil = { run: (): CommandResult => ({}) };
  #faults: CommandFault[] = [];

  constructor(
    runner?: JobRunner,
    isLocked = () => false,
    responsible: () => LoggedProgram | undefined = () => undefined,
  ) {
    this.ioreg = new Ioreg(isLocked);
    this.launchctl = new Launchctl(runner);
    this.log = new PrivacyLog(responsible);
  }

  break({ faults }: { faults: readonly CommandFault[] }): void {
    this.#faults = [...faults];
  }

  run({ program, arguments: args }: { program: SystemProgram; arguments: readonly string[] }): CommandEnd {
    const fault = this.#faults.find(
      (candidate) =>
        candidate.program === program &&
        (candidate.arguments ?? []).every((argument, index) => args[index] === argument),
    );
    if (fault === undefined) return this[program].run(args);
    const times = (fault.times ?? 1) - 1;
    this.#faults = this.#faults.flatMap((candidate) =>
      candidate !== fault ? [candidate] : times > 0 ? [{ ...fault, times }] : [],
    );
    return fault;
  }
}
