import { counted } from '@footbridge/runtime/counted';
import { pass, warn } from '@footbridge/runtime/finding';
import type { Finding } from '@footbridge/runtime/finding';

import type { SystemPrograms } from '../config/system-programs.ts';
import { isScreenLocked } from '../edges/screen-lock.ts';
import { runProgram } from '../install/run-program.ts';
import { powerSetting } from './power-setting.ts';

/** When a Mac starts the screen saver, unless the owner chose another time. */
const DEFAULT_SCREEN_SAVER_MIN = 20;
const EFFECT = 'reactions, replies and effects fail while it is locked';
const NEVER_LOCK =
  'Choose Never in System Settings, Lock Screen, Require password after screen saver begins or display is turned off';

/** Checks whether the screen is locked or will lock. `power` is the output of `pmset -g`. */
export async function checkScreen(
  programs: Pick<SystemPrograms, 'defaults' | 'ioreg' | 'sysadminctl'>,
  power: string,
): Promise<Finding> {
  if (await isScreenLocked(programs.ioreg))
    return warn('Screen', `locked now; ${EFFECT}`, `Unlock it. ${NEVER_LOCK}`);
  const status = await runProgram(programs.sysadminctl, ['-screenLock', 'status']);
  const delaySec = lockDelay(status.stderr);
  if (delaySec === undefined)
    return warn('Screen', `its lock setting could not be read; ${EFFECT}`, NEVER_LOCK);
  if (delaySec === 'never') return pass('Screen', 'never locks by itself');
  const domain = ['-currentHost', 'read', 'com.apple.screensaver', 'idleTime'];
  const idleTime = await runProgram(programs.defaults, domain);
  const saverMin = idleTime.ok ? Number(idleTime.stdout) / 60 : DEFAULT_SCREEN_SAVER_MIN;
  const delays = [powerSetting(power, 'displaysleep') ?? 0, saverMin].filter((minutes) => minutes > 0);
  if (delays.length === 0) return pass('Screen', 'stays on, so it never locks by itself');
  const minutes = Math.ceil(Math.min(...delays) + delaySec / 60);
  return warn('Screen', `locks after ${counted(minutes, 'minute')} without use; ${EFFECT}`, NEVER_LOCK);
}

/** Returns after how many seconds without a display a password is required. `status` is what `sysadminctl` wrote to standard error. */
function lockDelay(status: string): number | 'never' | undefined {
  if (/screenLock is off|delay is -1/.test(status)) return 'never';
  if (/delay is immediate/.test(status)) return 0;
  const seconds = /delay is (\d+)/.exec(status)?.[1];
  return seconds === undefined ? undefined : Number(seconds);
}
