import { ClockGuard, daysOff } from '@footbridge/runtime/clock-guard';
import type { ClockVerdict, TimeWitnesses } from '@footbridge/runtime/clock-guard';
import type { Clock } from '@footbridge/runtime/clock';
import type { Log } from '@footbridge/runtime/log';

/** Decides whether expired data may be deleted. What shows the time is only known once the other parts are composed. */
export interface LateClockGuard {
  readonly mayDelete: () => Promise<boolean>;
  readonly verdict: () => ClockVerdict | undefined;
  readonly witnessedBy: (witnesses: TimeWitnesses) => void;
}

export function lateClockGuard({ clock, log }: { readonly clock: Clock; readonly log: Log }): LateClockGuard {
  let guard: ClockGuard | undefined;
  const changed = (verdict: ClockVerdict) => {
    if (verdict.agrees)
      return log.info({ event: 'clock.agrees' }, 'the clock is right, expired data is deleted again');
    const { because, aheadMs } = verdict;
    log.warn(
      { event: 'clock.doubtful', because, off: daysOff(aheadMs) },
      'nothing is deleted until the clock agrees with the CRM, or without it with the newest message; set the clock of this machine',
    );
  };
  return {
    mayDelete: async () => (await guard?.mayDelete()) ?? false,
    verdict: () => guard?.verdict,
    witnessedBy: (witnesses) => (guard = new ClockGuard({ clock, witnesses, changed })),
  };
}
