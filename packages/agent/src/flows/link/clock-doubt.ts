import { daysOff } from '@footbridge/runtime/clock-guard';
import type { ClockVerdict } from '@footbridge/runtime/clock-guard';
import type { Log } from '@footbridge/runtime/log';

import type { Journal } from '../../journal/journal.ts';

const NOTE = 'clock-doubt';

const WHY = {
  other_machine: (off: string) => `it is ${off}, compared with the service`,
  step: (off: string) => `it jumped and is ${off}, and the service does not respond`,
  old_rows: (off: string) =>
    `compared with the newest message it is ${off}, and the service does not respond`,
} as const;

/** Logs whether the clock of this Mac is right, and saves it for `doctor`. */
export function recordClockVerdict(verdict: ClockVerdict, journal: Pick<Journal, 'setNote'>, log: Log): void {
  journal.setNote(NOTE, verdict.agrees ? '' : WHY[verdict.because](daysOff(verdict.aheadMs)));
  if (verdict.agrees) log.info({ event: 'clock.agrees' }, 'clock agrees, deleting old entries again');
  else
    log.warn(
      { event: 'clock.doubtful', because: verdict.because, off: daysOff(verdict.aheadMs) },
      'clock in doubt, deleting nothing',
    );
}

/** Deletes the saved doubt: at a start, nothing is known about the clock. */
export function forgetClockDoubt(journal: Pick<Journal, 'setNote'>): void {
  journal.setNote(NOTE, '');
}

/** Returns why the clock is in doubt, or undefined when it is not. */
export function readClockDoubt(journal: Pick<Journal, 'note'>): string | undefined {
  const doubt = journal.note(NOTE);
  return doubt === '' ? undefined : doubt;
}
