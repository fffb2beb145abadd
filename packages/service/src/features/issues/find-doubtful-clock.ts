import { daysOff } from '@footbridge/runtime/clock-guard';
import type { ClockVerdict } from '@footbridge/runtime/clock-guard';

import type { Finding } from '../../platform/findings.ts';

const WRONG_CLOCK = {
  other_machine: (host: string, off: string) => `The clock of ${host} is ${off}, compared with the CRM's.`,
  step: (host: string, off: string) =>
    `The clock of ${host} jumped, it is ${off}, and the CRM does not respond, so nothing shows which time is right.`,
  old_rows: (host: string, off: string) =>
    `The clock of ${host} cannot be confirmed: the CRM does not respond, and compared with the newest message it is ${off}.`,
} as const;

/** Finds a clock that is wrong, or that cannot be compared with another one. */
export function doubtfulClock(host: string, clock: ClockVerdict | undefined): Finding[] {
  if (clock === undefined || clock.agrees) return [];
  const { because, aheadMs } = clock;
  return [
    {
      kind: 'clock_doubtful',
      subject: host,
      locationIds: null,
      sentence: `${WRONG_CLOCK[because](host, daysOff(aheadMs))} Expired data is not deleted meanwhile.`,
      action:
        because === 'other_machine'
          ? `Set the clock of ${host}, for example with NTP. Data is deleted again within an hour.`
          : `Check the clock of ${host}, and why the CRM does not respond: \`footbridge doctor\`. If the clock is right, ${because === 'step' ? 'restart the service' : 'the next message confirms it'}.`,
      since: null,
    },
  ];
}
