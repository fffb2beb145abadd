import type { CommandResult } from './command-result.ts';

/** When a password is required after the display turned off or the screen saver began. */
export type ScreenLock = 'off' | 'immediate' | { readonly seconds: number };

/** `sysadminctl`: whether the screen locks. It writes to standard error. */
export class Sysadminctl {
  #lock: ScreenLock = 'immediate';

  configure({ screenLock }: { screenLock: ScreenLock }): void {
    this.#lock = screenLock;
  }

  run([option, value]: readonly string[]): CommandResult {
    if (option !== '-screenLock' || value !== 'status')
      return { stderr: 'Usage: sysadminctl\n', exitCode: 64 };
    return { stderr: `2026-01-01 09:41:00.000 sysadminctl[500:1000] ${describe(this.#lock)}\n` };
  }
}

function describe(lock: ScreenLock): string {
  if (lock === 'off') return 'screenLock is off';
  return `screenLock delay is ${lock === 'immediate' ? lock : `${lock.seconds} seconds`}`;
}
