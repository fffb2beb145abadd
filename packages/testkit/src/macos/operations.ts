import { playPeople } from '@footbridge/simulator/calls';
import { StoredConversations } from '@footbridge/simulator/stored-conversations';
import { JsonBody } from '@footbridge/simulator/json-body';
import { SimulatedPeople } from '@footbridge/simulator/people';

import type { ScreenCalls } from './accessibility/bridge.ts';
import type { Screen } from './accessibility/screen.ts';
import type { AppleEvents } from './apple-events.ts';
import type { MessagesApp } from '@footbridge/simulator/messages-app';
import type { ChatMembers } from '@footbridge/simulator/messages-store';
import type { OsascriptFaults } from './osascript-faults.ts';
import type { LaunchedApp } from './launched-app.ts';
import type { Privacy } from './privacy.ts';
import type { SystemCommands } from './system-commands.ts';

export interface ProgramCall {
  readonly program: string;
  readonly arguments: readonly string[];
}

/** The operations of the control port. The types of the remote client derive from this table. */
export function operationsOf(
  app: MessagesApp,
  events: AppleEvents,
  faults: OsascriptFaults,
  system: SystemCommands,
  screen: Screen,
  machine: { privacy: Privacy; app: LaunchedApp; restart: () => void },
) {
  const { privacy, app: agentApp } = machine;
  const calls: ProgramCall[] = [];
  const people = new SimulatedPeople(app, { idOf: (rowid) => rowid, rowOf: (chatId) => chatId });
  return {
    write: app.write.bind(app),
    react: app.react.bind(app),
    /** Carries out a call of the control port of the simulation: `people/HANDLE/say`. The id of a chat is its row. */
    play: ({ path, body }: { path: readonly string[]; body: object }) =>
      playPeople(path, new JsonBody(body), people),
    /** Returns every chat with its messages as they appear on screen. */
    conversations: () => new StoredConversations(app).view(),
    /** Creates a group without messages and returns its row id. */
    group: (members: ChatMembers) => app.store.chat(members),
    ghost: ({ chatIdentifier }: { chatIdentifier: string }) => app.ghost(chatIdentifier),
    change: app.change.bind(app),
    hold: () => app.hold(),
    holdFiles: () => app.holdFiles(),
    release: () => app.release(),
    settled: () => app.settled(),
    takeCompleted: () => app.takeCompleted(),
    checkpoint: () => app.checkpoint(),
    rotate: () => app.rotate(),
    lock: app.lock.bind(app),
    alter: app.alter.bind(app),
    backUp: () => app.backUp(),
    restore: () => app.restore(),
    rebuild: () => app.rebuild(),
    resync: app.resync.bind(app),
    damage: () => app.damage(),
    remove: () => app.remove(),
    configure: events.configure.bind(events),
    startMessages: () => {
      events.start();
      screen.start();
    },
    /** The faults of Apple events that have not been used up. */
    eventFaults: () => events.faults(),
    sent: () => events.sent,
    accounts: () => events.accounts(),
    chats: () => events.chats(),
    send: events.send.bind(events),
    /** `pid`: of a process of `osascript`, which uses the permissions of the agent. */
    recordCall: ({ pid, ...call }: ProgramCall & { pid?: number }) => {
      calls.push(call);
      if (pid !== undefined) system.log.record(pid);
    },
    /** Every call of a system program with its arguments, in order. */
    calls: () => calls,
    breakOsascript: faults.add.bind(faults),
    takeOsascriptFault: () => faults.take() ?? null,
    /** Preferences by domain, as `defaults` reads them. */
    configureDefaults: system.defaults.configure.bind(system.defaults),
    configureLaunchctl: system.launchctl.configure.bind(system.launchctl),
    configureFileVault: system.fdesetup.configure.bind(system.fdesetup),
    /** Privacy & Security: what the owner allows the agent to do. */
    configurePrivacy: privacy.configure.bind(privacy),
    /** Starts Footbridge Agent.app, and with `wait` resolves when it ends. */
    openApp: agentApp.open.bind(agentApp),
    configureApps: agentApp.configure.bind(agentApp),
    appStarts: () => agentApp.starts,
    killApp: () => agentApp.kill(),
    /** Every process of the owner is killed, and the launch agents in the home folder start. */
    restartMac: () => machine.restart(),
    configurePmset: system.pmset.configure.bind(system.pmset),
    configureScreenLock: system.sysadminctl.configure.bind(system.sysadminctl),
    breakCommands: system.break.bind(system),
    runCommand: system.run.bind(system),
    configureScreen: screen.configure.bind(screen),
    leaveOnScreen: screen.leave.bind(screen),
    screenActions: screen.actions.bind(screen),
    /** What the frameworks of `osascript` ask the screen. */
    screenCall: ({ name, argument }: { name: keyof ScreenCalls; argument: never }) =>
      screen[name].bind(screen)(argument),
  };
}

export type MessagesOperations = ReturnType<typeof operationsOf>;
