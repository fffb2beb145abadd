import type { CommandResult } from './command-result.ts';

/** `fdesetup`: whether the disk is encrypted with FileVault. */
export class Fdesetup {
  #isOn = false;

  configure({ isOn }: { isOn: boolean }): void {
    this.#isOn = isOn;
  }

  run([verb]: readonly string[]): CommandResult {
    return verb === 'status'
      ? { stdout: `FileVault is ${this.#isOn ? 'On' : 'Off'}.\n` }
      : { stderr: 'fdesetup: root access required\n', exitCode: 1 };
  }
}
