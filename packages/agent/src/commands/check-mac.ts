import { existsSync } from 'node:fs';

import { counted } from '@footbridge/runtime/counted';
import { fail, pass, warn } from '@footbridge/runtime/finding';
import type { Finding } from '@footbridge/runtime/finding';

import type { Installation } from '../install/installation.ts';
import { runProgram } from '../install/run-program.ts';
import { checkScreen } from './check-screen.ts';
import { powerSetting } from './power-setting.ts';

/** Checks the settings of the Mac that can keep the agent from working day and night. */
export async function checkMac(
  { layout, programs, launchAgent }: Installation,
  uiAutomation: boolean,
): Promise<Finding[]> {
  const power = await runProgram(programs.pmset, ['-g']);
  const fileVault = await runProgram(programs.fdesetup, ['status']);
  return [
    existsSync(layout.app)
      ? pass('App', layout.app)
      : warn('App', 'not installed', 'Run footbridge-agent setup, so that permissions can be granted'),
    checkLoginItem(await launchAgent.state()),
    checkSleep(power.stdout),
    ...(uiAutomation ? [await checkScreen(programs, power.stdout)] : []),
    checkFileVault(fileVault.stdout),
  ];
}

function checkLoginItem(state: Awaited<ReturnType<Installation['launchAgent']['state']>>): Finding {
  if (state === 'loaded') return pass('Login item', 'the agent starts when you log in');
  return state === 'disabled'
    ? fail(
        'Login item',
        'switched off',
        'Switch on Footbridge Agent in System Settings, General, Login Items, Allow in the Background',
      )
    : warn('Login item', 'not installed', 'Run footbridge-agent setup');
}

function checkSleep(settings: string): Finding {
  const minutes = powerSetting(settings, 'sleep');
  if (minutes === undefined)
    return warn('Sleep', 'could not be read', 'Check System Settings, Energy: the Mac must not sleep');
  if (minutes === 0) return pass('Sleep', 'the Mac does not sleep');
  return warn(
    'Sleep',
    `the Mac sleeps after ${counted(minutes, 'minute')} without use, and texts wait until it wakes up`,
    'Switch on System Settings, Energy, Prevent automatic sleeping when the display is off (Battery, Options on a MacBook)',
  );
}

function checkFileVault(status: string): Finding {
  if (/FileVault is Off/.test(status)) return pass('FileVault', 'off');
  if (!/FileVault is On/.test(status))
    return warn('FileVault', 'could not be read', 'Check System Settings, Privacy & Security, FileVault');
  return warn(
    'FileVault',
    'on, so the agent starts only after you typed your password',
    'Log in after every restart of the Mac',
  );
}
