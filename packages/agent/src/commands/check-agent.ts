import { counted } from '@footbridge/runtime/counted';
import { fail, pass, warn } from '@footbridge/runtime/finding';
import type { Finding } from '@footbridge/runtime/finding';

import { notVerified } from '../config/verified-on-mac.ts';
import type { AgentReport } from '../edges/local-socket/local-calls.ts';

const DAY_SEC = 24 * 3600;
const MAX_SILENCE_DAYS = 7;
const SETTINGS_PATH = 'System Settings, Privacy & Security';

/**
 * Returns what the running agent knows. This process cannot check it: the Terminal has permissions of its own. `stoppedBecause` says why
 * an agent that is not running must not be restarted automatically.
 */
export function checkAgent(
  report: AgentReport | undefined,
  isSimulated: boolean,
  {
    stoppedBecause,
    isInstalled = false,
  }: { stoppedBecause?: string | undefined; isInstalled?: boolean } = {},
): Finding[] {
  if (report === undefined) return [notRunning(stoppedBecause, isInstalled)];
  const mac = isSimulated ? [] : [checkSms(report), checkVerified(report)];
  return [
    pass('Agent', `running, version ${report.version}, for ${report.location}`),
    checkLink(report),
    ...checkPermissions(report),
    checkMessages(report),
    ...mac,
    checkNewest(report),
  ];
}

function notRunning(because: string | undefined, isInstalled: boolean): Finding {
  if (because !== undefined)
    return fail(
      'Agent',
      `stopped: ${because}`,
      'Resolve this with the operator of the service, then run footbridge-agent setup, which starts the agent again',
    );
  return isInstalled
    ? fail('Agent', 'not running', 'Run footbridge-agent setup, which starts it again')
    : warn('Agent', 'not running', 'Run footbridge-agent setup on a Mac, or footbridge-agent run');
}

function checkLink({ link }: AgentReport): Finding {
  if (link.state === 'registered') return pass('Link', 'connected to the service');
  const reason = link.because === undefined ? '' : `: ${link.because}`;
  return fail('Link', `${link.state}${reason}`, 'Check the network, and ask the operator of the service');
}

function checkPermissions({ state, engine, uiAutomation }: AgentReport): Finding[] {
  const { fullDisk, automation, accessibility } = state.permissions ?? {};
  const find = (check: string, value: string | undefined, next: string): Finding => {
    if (value === 'granted') return pass(check, 'granted');
    if (value === 'denied') return fail(check, 'denied', next);
    return warn(check, 'not known yet', 'Run footbridge-agent setup, which asks for it');
  };
  const fullDiskFinding = find(
    'Full Disk',
    fullDisk,
    `Switch on Footbridge Agent in ${SETTINGS_PATH}, Full Disk Access`,
  );
  if (engine === 'bluebubbles') {
    const notNeeded = 'not needed: BlueBubbles controls Messages';
    return [fullDiskFinding, pass('Automation', notNeeded), pass('Access', notNeeded)];
  }
  return [
    fullDiskFinding,
    find(
      'Automation',
      automation,
      `Switch on Messages below Footbridge Agent in ${SETTINGS_PATH}, Automation`,
    ),
    uiAutomation
      ? find('Access', accessibility, `Switch on Footbridge Agent in ${SETTINGS_PATH}, Accessibility`)
      : pass('Access', 'not needed: FOOTBRIDGE_UI_AUTOMATION is false'),
  ];
}

function checkMessages({ store, state }: AgentReport): Finding {
  if (store === 'absent') return fail('Messages', 'has no messages', 'Open Messages and sign in');
  if (store === 'empty' || state.messages?.signedIn === false)
    return fail('Messages', 'not signed in', 'Open Messages, Settings, iMessage, and sign in');
  if (store === 'corrupt')
    return fail('Messages', 'its store is damaged', 'Quit Messages, open it again and restart the Mac');
  if (state.session === 'locked' || state.session === 'away')
    return warn(
      'Messages',
      `the screen is ${state.session === 'locked' ? 'locked' : 'used by another user'}`,
      'Unlock the Mac: reactions, replies and effects need the screen',
    );
  const services = state.messages?.services?.join(', ');
  return pass('Messages', services === undefined ? 'readable' : `signed in to ${services}`);
}

function checkSms({ state }: AgentReport): Finding {
  const services = state.messages?.services;
  if (services === undefined)
    return warn('SMS', 'not known yet', 'Run footbridge-agent setup, which asks Messages');
  if (services.includes('SMS')) return pass('SMS', 'forwarded by the iPhone');
  return warn(
    'SMS',
    'not forwarded, so only people with iMessage get texts',
    'On the iPhone: Settings, Apps, Messages, Text Message Forwarding, switch on this Mac',
  );
}

function checkNewest({ newestMessageAgeSec }: AgentReport): Finding {
  if (newestMessageAgeSec === null) return pass('Newest', 'no messages yet');
  const days = Math.floor(newestMessageAgeSec / DAY_SEC);
  if (days <= MAX_SILENCE_DAYS)
    return pass('Newest', `the newest message is ${describeAge(newestMessageAgeSec)} old`);
  return warn(
    'Newest',
    `the newest message is ${counted(days, 'day')} old`,
    'Send a text to this Mac; if it does not arrive, sign out of Messages and in again',
  );
}

function checkVerified({ state }: AgentReport): Finding {
  const open = notVerified(state.capabilities);
  if (open.length === 0) return pass('Verified', 'every capability was verified on a Mac');
  return warn(
    'Verified',
    `not yet verified on a Mac: ${open.join(', ')}`,
    'Run footbridge-agent doctor --selftest --to with your own number, and send the file to the operator of the service',
  );
}

export function describeAge(seconds: number): string {
  if (seconds < 120) return counted(Math.round(seconds), 'second');
  if (seconds < 7200) return counted(Math.round(seconds / 60), 'minute');
  return seconds < 2 * DAY_SEC
    ? counted(Math.round(seconds / 3600), 'hour')
    : counted(Math.round(seconds / DAY_SEC), 'day');
}
