import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';

import { createControl } from './control.ts';
import { closeHttp, listen } from './loopback.ts';
import { Screen } from './macos/accessibility/screen.ts';
import { AppleEvents } from './macos/apple-events.ts';
import { MACOS_VERSIONS } from '@footbridge/simulator/chat-db';
import { LaunchedApp } from './macos/launched-app.ts';
import { Launchd } from './macos/launchd.ts';
import { MessagesApp } from '@footbridge/simulator/messages-app';
import { callsFolder, writeCommands } from './macos/commands.ts';
import { operationsOf } from './macos/operations.ts';
import { OsascriptFaults } from './macos/osascript-faults.ts';
import { Privacy } from './macos/privacy.ts';
import { serveSynchronousCalls } from './macos/synchronous-calls.ts';
import { SystemCommands } from './macos/system-commands.ts';

/** `node macos-main.ts --home FOLDER [--macos 26] [--control-port N]`. Prints one JSON line when it is ready. */
const { values } = parseArgs({
  options: {
    home: { type: 'string' },
    macos: { type: 'string', default: '26' },
    'control-port': { type: 'string', default: '0' },
  },
});
const macos = MACOS_VERSIONS.find((version) => version === Number(values.macos));
if (values.home === undefined || macos === undefined) {
  process.stderr.write(`--home is required, --macos is one of ${MACOS_VERSIONS.join(', ')}\n`);
  process.exit(2);
}
const app = new MessagesApp(values.home, macos);
const screen = new Screen(app);
const privacy = new Privacy(values.home, screen);
const agentApp = new LaunchedApp(values.home);
const launchd = new Launchd(values.home);
const system = new SystemCommands(
  launchd,
  () => screen.session().isLocked,
  () => agentApp.responsible,
);
const launchAgents = join(values.home, 'Library/LaunchAgents');
const endProcesses = () => {
  launchd.stopAll();
  agentApp.kill();
};
const restart = () => {
  endProcesses();
  system.launchctl.reset();
  for (const name of existsSync(launchAgents) ? readdirSync(launchAgents) : [])
    system.launchctl.run(['bootstrap', 'gui/501', join(launchAgents, name)]);
};
const operations = operationsOf(app, new AppleEvents(app, privacy), new OsascriptFaults(), system, screen, {
  privacy,
  app: agentApp,
  restart,
});
const control = createControl(operations);
const endCalls = serveSynchronousCalls(callsFolder(values.home), operations);
const controlUrl = `http://127.0.0.1:${await listen(control, Number(values['control-port']))}`;
const commands = writeCommands(values.home, macos, controlUrl);

for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => {
    endProcesses();
    app.close();
    endCalls();
    void closeHttp(control);
  });
}

process.stdout.write(
  `${JSON.stringify({ msg: 'messages ready', controlUrl, commands, path: app.store.path })}\n`,
);
