import { join } from 'node:path';

/** The programs of macOS that the agent uses, by path. */
export interface SystemPrograms {
  readonly afconvert: string;
  readonly codesign: string;
  readonly defaults: string;
  readonly fdesetup: string;
  readonly ioreg: string;
  readonly launchctl: string;
  readonly log: string;
  readonly open: string;
  readonly osacompile: string;
  readonly osascript: string;
  readonly pmset: string;
  readonly swVers: string;
  readonly sysadminctl: string;
  readonly tccutil: string;
}

/** `folder` has replacements for the programs of the system, under the same names. */
export function systemPrograms(folder?: string): SystemPrograms {
  const path = (systemFolder: string, name: string) => join(folder ?? systemFolder, name);
  return {
    afconvert: path('/usr/bin', 'afconvert'),
    codesign: path('/usr/bin', 'codesign'),
    defaults: path('/usr/bin', 'defaults'),
    fdesetup: path('/usr/bin', 'fdesetup'),
    ioreg: path('/usr/sbin', 'ioreg'),
    launchctl: path('/bin', 'launchctl'),
    log: path('/usr/bin', 'log'),
    open: path('/usr/bin', 'open'),
    osacompile: path('/usr/bin', 'osacompile'),
    osascript: path('/usr/bin', 'osascript'),
    pmset: path('/usr/bin', 'pmset'),
    swVers: path('/usr/bin', 'sw_vers'),
    sysadminctl: path('/usr/sbin', 'sysadminctl'),
    tccutil: path('/usr/bin', 'tccutil'),
  };
}
