import { notVerified } from '../config/verified-on-mac.ts';
import type { AgentReport } from '../edges/local-socket/local-calls.ts';
import { failure, ok, warning } from './finding.ts';
import type { Finding } from './finding.ts';

const DAY_SEC = 24 * 3600;
const MAX_SILENCE_DAYS = 7;
const SETTINGS_PATH = 'System Settings, Privacy & Security';

/**
 * What the running agent knows. The permissions of the Terminal say nothing about those of the agent. `stoppedBecause`: why an
 * agent that is not running must not be restarted automatically.
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
    ok('Agent', `running, version ${report.version}, for ${report.location}`),
    checkLink(report),
    ...checkPermissions(report),
    checkMessages(report),
    ...mac,
    checkNewest(report),
  ];
}

function notRunning(because: string | undefined, isInstalled: boolean): Finding {
  if (because !== undefined)
    return failure(
      'Agent',
      `stopped: ${because}`,
      'Resolve this with the operator of the service, then run footbridge-agent setup, which starts the agent again',
    );
  return isInstalled
    ? failure('Agent', 'not running', 'Run footbridge-agent setup, which starts it again')
    : warning('Agent', 'not running', 'Run footbridge-agent setup on a Mac, or footbridge-agent run');
}

function checkLink({ link }: AgentReport): Finding {
  if (link.state === 'registered') return ok('Link', 'connected to the service');
  const reason = link.because === undefined ? '' : `: ${link.because}`;
  return failure('Link', `${link.state}${reason}`, 'Check the network, and ask the operator of the service');
}

function checkPermissions({ state, engine, uiAutomation }: AgentReport): Finding[] {
  const { fullDisk, automation, accessibility } = state.permissions ?? {};
  const find = (check: string, value: string | undefined, next: string): Finding => {
    if (value === 'granted') return ok(check, 'granted');
    if (value === 'denied') return failure(check, 'denied', next);
    return warning(check, 'not known yet', 'Run footbridge-agent setup, which asks for it');
  };
  const fullDiskFinding = find(
    'Full Disk',
    fullDisk,
    `Switch on Footbridge Agent in ${SETTINGS_PATH}, Full Disk Access`,
  );
  if (engine === 'bluebubbles') {
    const notNeeded = 'not needed: BlueBubbles controls Messages';
    return [fullDiskFinding, ok('Automation', notNeeded), ok('Access', notNeeded)];
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
      : ok('Access', 'not needed: FOOTBRIDGE_UI_AUTOMATION is false'),
  ];
}

function checkMessages({ store, state }: AgentReport): Finding {
  if (store === 'absent') return failure('Messages', 'has no messages', 'Open Messages and sign in');
  if (store === 'empty' || state.messages?.signedIn === false)
    return failure('Messages', 'not signed in', 'Open Messages, Settings, iMessage, and sign in');
  if (store === 'corrupt')
    return failure('Messages', 'its store is damaged', 'Quit Messages, open it again and restart the Mac');
  if (state.session === 'locked' || state.session === 'away')
    return warning(
      'Messages',
      `the screen is ${state.session === 'locked' ? 'locked' : 'used by another user'}`,
      'Unlock the Mac: reactions, replies and effects need the screen',
    );
  const services = state.messages?.services?.join(', ');
  return ok('Messages', services === undefined ? 'readable' : `signed in to ${services}`);
}

function checkSms({ state }: AgentReport): Finding {
  const services = state.messages?.services;
  if (services === undefined)
    return warning('SMS', 'not known yet', 'Run footbridge-agent setup, which asks Messages');
  if (services.includes('SMS')) return ok('SMS', 'forwarded by the iPhone');
  return warning(
    'SMS',
    'not forwarded, so only people with iMessage get texts',
    'On the iPhone: Settings, Apps, Messages, Text Message Forwarding, switch on this Mac',
  );
}

function checkNewest({ newestMessageAgeSec }: AgentReport): Finding {
  if (newestMessageAgeSec === null) return ok('Newest', 'no messages yet');
  const days = Math.floor(newestMessageAgeSec / DAY_SEC);
  if (days <= MAX_SILENCE_DAYS)
    return ok('Newest', `the newest message is ${describeAge(newestMessageAgeSec)} old`);
  return warning(
    'Newest',
    `the newest message is ${days} days old`,
    'Send a text to this Mac; if it does not arrive, sign out of Messages and in again',
  );
}

function checkVerified({ state }: AgentReport): Finding {
  const open = notVerified(state.capabilities);
  if (open.length === 0) return ok('Verified', 'every capability was verified on a Mac');
  return warning(
    'Verified',
    `not yet verified on a Mac: ${open.join(', ')}`,
    'Run footbridge-agent doctor --selftest --to with your own number, and send the file to the operator of the service',
  );
}

export function describeAge(seconds: number): string {
  if (seconds < 120) return `${Math.round(seconds)} seconds`;
  if (seconds < 7200) return `${Math.round(seconds / 60)} minutes`;
  return seconds < 2 * DAY_SEC
    ? `${Math.round(seconds / 3600)} hours`
    : `${Math.round(seconds / DAY_SEC)} days`;
}
