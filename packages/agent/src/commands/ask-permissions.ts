import { every } from '@footbridge/runtime/clock';
import type { Clock } from '@footbridge/runtime/clock';

import { callAgent } from '../edges/local-socket/local-client.ts';
import { runProgram } from '../install/run-program.ts';
import { agentStarted, reportOf, stopAgent } from './restart-agent.ts';
import type { Terminal } from './terminal.ts';

export interface PermissionDeps {
  readonly terminal: Terminal;
  readonly clock: Clock;
  readonly dataDir: string;
  /** The path of `open`. */
  readonly open: string;
  readonly app: string;
}

type PermissionName = 'fullDisk' | 'automation' | 'accessibility';

interface Step {
  readonly name: PermissionName;
  readonly title: string;
  readonly why: string;
  readonly how: string;
  readonly pane: string;
}

const PANES = 'x-apple.systempreferences:com.apple.preference.security?';

const STEPS: readonly Step[] = [
  {
    name: 'fullDisk',
    title: 'Full Disk Access',
    why: 'Footbridge reads new texts from the file in which Messages keeps them.',
    how: 'In the window that opens, press +, choose Footbridge Agent in the Applications folder of your home folder, and switch it on.',
    pane: `${PANES}Privacy_AllFiles`,
  },
  {
    name: 'automation',
    title: 'Automation',
    why: 'Footbridge sends your texts through Messages.',
    how: 'macOS asks whether Footbridge Agent may control Messages. Press Allow.',
    pane: `${PANES}Privacy_Automation`,
  },
  {
    name: 'accessibility',
    title: 'Accessibility',
    why: 'Footbridge presses the buttons of Messages for reactions, replies and effects.',
    how: 'In the window that opens, press +, choose Footbridge Agent in the Applications folder of your home folder, and switch it on.',
    pane: `${PANES}Privacy_Accessibility`,
  },
];

const POLL_MS = 1_000;
/** How often the agent is restarted: a program gets Full Disk Access only at its next start. */
const RESTART_MS = 15_000;
const REMIND_MS = 60_000;

const AFTER_DENIAL =
  'In the window that opens, find Footbridge Agent and switch on Messages below it. If it is not in the list, run: tccutil reset AppleEvents com.footbridge.agent';
const STOP_HINT = '(Control-C stops the setup; run it again at any time)';

/** Guides the owner through the permissions, one at a time. Resolves with the titles of the missing ones. */
export async function askPermissions(deps: PermissionDeps): Promise<string[]> {
  const missing: string[] = [];
  const report = await reportOf(deps.dataDir);
  const needed: Readonly<Record<PermissionName, boolean>> = {
    fullDisk: true,
    automation: report?.engine !== 'bluebubbles',
    accessibility: report?.uiAutomation === true,
  };
  const steps = STEPS.filter(({ name }) => needed[name]);
  for (const [index, step] of steps.entries()) {
    deps.terminal.say(`\n${index + 1} of ${steps.length}  ${step.title}\n${step.why}`);
    if (await askPermission(step, deps)) deps.terminal.confirm(`${step.title} is on.`);
    else {
      deps.terminal.complain(`${step.title} is off.`);
      missing.push(step.title);
    }
  }
  return missing;
}

async function askPermission(step: Step, deps: PermissionDeps): Promise<boolean> {
  const { terminal, open, app } = deps;
  if ((await current(step.name, deps)) === 'granted' || (await isStillGranted(step, deps))) return true;
  terminal.say(step.how);
  if (step.name === 'automation') {
    terminal.say(`Waiting for your answer in the window of macOS … ${STOP_HINT}`);
    const answer = await reminding(step, deps, () => request('automation', deps));
    if (answer === 'granted') return true;
    terminal.say(`${answer === 'denied' ? 'It was denied' : 'There was no answer'}. ${AFTER_DENIAL}`);
  } else {
    // Shows the app in the Finder, from where it can be dragged into the list.
    await runProgram(open, ['-R', app]);
  }
  await runProgram(open, [step.pane]);
  if (step.name === 'accessibility' && (await request(step.name, deps)) === 'granted') return true;
  if (!terminal.interactive) return false;
  terminal.say(`Waiting for it … ${STOP_HINT}`);
  await reminding(step, deps, () => waitFor(step.name, deps));
  return true;
}

/** A new process of the agent does not know its permissions yet. The request shows no prompt for a permission that macOS granted before. */
async function isStillGranted(step: Step, deps: PermissionDeps): Promise<boolean> {
  const { name } = step;
  if (name === 'fullDisk' || !(await reportOf(deps.dataDir))?.grantedBefore.includes(name)) return false;
  return (await reminding(step, deps, () => request(name, deps))) === 'granted';
}

/** Reminds the owner of the step until the step is done. Rejects after Control-C. */
async function reminding<T>(
  step: Step,
  { clock, terminal }: PermissionDeps,
  wait: () => Promise<T>,
): Promise<T> {
  const end = every(clock, REMIND_MS, () => terminal.say(`Still waiting. ${step.how}`));
  try {
    const result = await wait();
    terminal.interrupted.throwIfAborted();
    return result;
  } finally {
    end();
  }
}

/** Waits until the running agent has the permission, or until Control-C. */
async function waitFor(name: PermissionName, deps: PermissionDeps): Promise<void> {
  const { clock, terminal } = deps;
  for (let waited = POLL_MS; !terminal.interrupted.aborted; waited += POLL_MS) {
    await clock.sleep(POLL_MS, terminal.interrupted);
    const state = name === 'fullDisk' ? await current(name, deps) : await request(name, deps);
    if (state === 'granted') return;
    if (name === 'fullDisk' && waited % RESTART_MS === 0) await restart(deps);
  }
}

/** Stops the agent; launchd starts it again. */
async function restart({ dataDir, clock }: PermissionDeps): Promise<void> {
  await stopAgent(dataDir, clock);
  await agentStarted(dataDir, clock);
}

async function current(name: PermissionName, { dataDir }: PermissionDeps): Promise<string | undefined> {
  return (await reportOf(dataDir))?.state.permissions?.[name];
}

async function request(
  permission: 'automation' | 'accessibility',
  { dataDir, terminal }: PermissionDeps,
): Promise<string> {
  const call = { call: 'requestPermission', permission } as const;
  return await callAgent(dataDir, call, { signal: terminal.interrupted }).catch(() => 'unknown');
}
