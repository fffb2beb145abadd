import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import process from 'node:process';
import { fileURLToPath } from 'node:url';

import type { MacosVersion } from '@footbridge/simulator/chat-db';
import { bundleOf } from '../bundles.ts';
import type { SystemProgram } from './system-commands.ts';

const FULL_VERSIONS: Readonly<Record<MacosVersion, readonly [version: string, build: string]>> = {
  13: ['13.7.8', '22H730'],
  14: ['14.8.1', '23J30'],
  15: ['15.7.1', '24G231'],
  26: ['26.1', '25B78'],
};

/** The paths of the simulated system programs. */
export interface Commands {
  readonly osacompile: string;
  readonly osascript: string;
  readonly open: string;
  readonly swVers: string;
  readonly codesign: string;
  readonly defaults: string;
  readonly fdesetup: string;
  readonly ioreg: string;
  readonly launchctl: string;
  readonly log: string;
  readonly pmset: string;
  readonly sysadminctl: string;
  readonly afconvert: string;
  readonly tccutil: string;
}

/** Writes programs with the names of macOS's own into the home directory. They talk to the simulated Messages. */
export function writeCommands(home: string, macos: MacosVersion, controlUrl: string): Commands {
  const folder = join(home, 'bin');
  mkdirSync(folder, { recursive: true });
  const [version, build] = FULL_VERSIONS[macos];
  const main = (name: string) => bundleOf(fileURLToPath(new URL(`${name}-main.ts`, import.meta.url)));
  const cache = process.env['NODE_COMPILE_CACHE'];
  const node = `${cache === undefined ? '' : `env NODE_COMPILE_CACHE='${cache}' `}'${process.execPath}' --disable-warning=ExperimentalWarning`;
  const system = (name: SystemProgram) =>
    script(join(folder, name), `exec ${node} '${main('system-command')}' '${controlUrl}' ${name} "$@"`);
  return {
    osascript: script(
      join(folder, 'osascript'),
      `exec ${node} '${main('osascript')}' '${callsFolder(home)}' "$@" 2>>'${osascriptErrors(home)}'`,
    ),
    open: script(join(folder, 'open'), `exec ${node} '${main('open')}' '${controlUrl}' "$@"`),
    swVers: script(
      join(folder, 'sw_vers'),
      `case "$1" in -productVersion) echo ${version};; -buildVersion) echo ${build};; esac`,
    ),
    // `codesign --force --sign - APP`. What the signature covers must not change afterwards.
    codesign: script(
      join(folder, 'codesign'),
      'mkdir "$4/Contents/_CodeSignature" && cp "$4/Contents/Info.plist" "$4/Contents/_CodeSignature/CodeResources"',
    ),
    defaults: system('defaults'),
    // `osacompile -l JavaScript -o APP SCRIPT`.
    osacompile: script(
      join(folder, 'osacompile'),
      `mkdir -p "$4/Contents/MacOS" "$4/Contents/Resources/Scripts" && cp "$5" "$4/Contents/Resources/Scripts/main.scpt" &&
echo 'a program of Apple' > "$4/Contents/MacOS/applet" && echo '<plist/>' > "$4/Contents/Info.plist"`,
    ),
    fdesetup: system('fdesetup'),
    ioreg: system('ioreg'),
    launchctl: system('launchctl'),
    log: system('log'),
    pmset: system('pmset'),
    sysadminctl: system('sysadminctl'),
    // `afconvert -f caff -d opus@24000 -c 1 -b 32000 INPUT OUTPUT`. It fails for a recording that begins with "damaged".
    afconvert: script(
      join(folder, 'afconvert'),
      `if [ "$(head -c 7 "$9")" = damaged ]; then exit 1; fi\nprintf 'caff opus ' > "\${10}" && cat "$9" >> "\${10}"`,
    ),
    tccutil: system('tccutil'),
  };
}

/** Where the programs make their synchronous calls. */
export function callsFolder(home: string): string {
  return join(home, 'bin/calls');
}

/** The standard error of `osascript`, which the agent ignores. */
export function osascriptErrors(home: string): string {
  return join(home, 'bin/osascript-errors.log');
}

function script(path: string, command: string): string {
  writeFileSync(path, `#!/bin/sh\n${command}\n`);
  chmodSync(path, 0o755);
  return path;
}
