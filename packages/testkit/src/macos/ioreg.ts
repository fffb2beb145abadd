import type { CommandResult } from './command-result.ts';

/** `ioreg -n Root -d1`: the root of the I/O registry, as far as it tells whether the screen is locked. */
export class Ioreg {
  readonly #isLocked: () => boolean;

  constructor(isLocked: () => boolean) {
    this.#isLocked = isLocked;
  }

  run(): CommandResult {
    const lines = [
      '+-o Root  <class IORegistryEntry>',
      `    "IOConsoleLocked" = ${this.#isLocked() ? 'Yes' : 'No'}`,
    ];
    return { stdout: `${lines.join('\n')}\n` };
  }
}
