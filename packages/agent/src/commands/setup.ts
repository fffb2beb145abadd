import { existsSync } from 'node:fs';
import { rmdir } from 'node:fs/promises';

import { createSystemClock } from '@footbridge/runtime/clock';
import type { Clock } from '@footbridge/runtime/clock';

import type { Settings } from '../config/config.ts';
import { SETTINGS } from '../config/settings.ts';
import { AGENT_VERSION } from '../config/version.ts';
import { makeDataDir } from '../edges/data-dir.ts';
import { callAgent } from '../edges/local-socket/local-client.ts';
import { readAddress } from '../edges/enrolment/pairing-code.ts';
import { readToken } from '../edges/enrolment/token-file.ts';
import { saveSettings } from '../edges/enrolment/save-settings.ts';
import { comeBack, reasonToStayAway } from '../edges/stay-away.ts';
import { InterruptedError } from '../errors.ts';
import { installApp, installApplet } from '../install/app-bundle.ts';
import { thisInstallation } from '../install/installation.ts';
import type { Installation } from '../install/installation.ts';
import type { Layout } from '../install/layout.ts';
import { packageRoot } from '../install/package-root.ts';
import { runProgram } from '../install/run-program.ts';
import { installVersion } from '../install/versions.ts';
import { activateMac } from './activate.ts';
import { askPermissions } from './ask-permissions.ts';
import { chooseEngine } from './choose-engine.ts';
import { EXIT } from './exit-codes.ts';
import { warnIfUnencrypted } from './output.ts';
import { pairMac } from './pair.ts';
import { agentStarted, stopAgent } from './restart-agent.ts';
import { createTerminal } from './terminal.ts';
import type { Terminal } from './terminal.ts';

export interface SetupOptions {
  readonly code: string | undefined;
  /** The number that gets the test text. */
  readonly to: string | undefined;
  /** Whether the agent may use the screen. Undefined keeps the saved setting. */
  readonly usesScreen: boolean | undefined;
  /** Whether a flag chose the engine. Then the setup does not ask for it. */
  readonly choosesEngine: boolean;
}

interface SetupDeps {
  readonly installation: Installation;
  readonly settings: Settings;
  readonly terminal: Terminal;
  readonly clock: Clock;
}

/** Installs the agent on this Mac, step by step, and ends with a text to the owner. The owner can repeat the setup at any time. */
export async function setup(options: SetupOptions, given: Settings): Promise<number> {
  const terminal = createTerminal();
  const installation = thisInstallation(given.programs);
  const root = packageRoot();
  if (installation === undefined || root === undefined) {
    terminal.complain(whyNot(installation));
    return EXIT.configuration;
  }
  const settings = { ...given, dataDir: installation.layout.support };
  const deps: SetupDeps = { installation, settings, terminal, clock: createSystemClock({ keepAlive: true }) };
  try {
    return await performSetup(options, root, deps);
  } catch (error) {
    if (!(error instanceof InterruptedError)) throw error;
    terminal.say(await leave(installation.layout));
    return EXIT.interrupted;
  }
}

/** Control-C takes effect only between two steps and while the setup waits for a person, so no step is left half done. */
async function performSetup(options: SetupOptions, root: string, deps: SetupDeps): Promise<number> {
  const { installation, terminal } = deps;
  const { layout } = installation;
  makeDataDir(layout.support);
  const notPaired = await pairing(options, deps);
  if (notPaired !== undefined) return notPaired;
  terminal.interrupted.throwIfAborted();

  const noEngine = await chooseEngine(options.choosesEngine, deps);
  if (noEngine !== undefined) return noEngine;
  terminal.interrupted.throwIfAborted();

  if (options.usesScreen !== undefined)
    await saveSettings(layout.support, { [SETTINGS.uiAutomation.name]: String(options.usesScreen) });
  const notStarted = await install(root, deps);
  terminal.interrupted.throwIfAborted();
  if (notStarted !== undefined) {
    terminal.complain(notStarted);
    return EXIT.failed;
  }
  const { open } = installation.programs;
  const missing = await askPermissions({ ...deps, dataDir: layout.support, open, app: layout.app });
  // The service may reject the agent only after it has started.
  const because = reasonToStayAway(layout.support);
  if (because !== undefined) {
    terminal.complain(stopped(because));
    return EXIT.failed;
  }
  if (missing.length > 0) {
    terminal.say(`\nNot ready yet: ${missing.join(', ')}. Run footbridge-agent setup again.`);
    return EXIT.doctor;
  }
  return await testText(options.to, deps);
}

/** Returns the message for the owner after Control-C. */
async function leave({ current, support }: Layout): Promise<string> {
  const next = 'To continue: footbridge-agent setup. To remove it: footbridge-agent uninstall';
  if (existsSync(current))
    return `\nThe setup was stopped. Footbridge Agent is installed and waiting. ${next}`;
  if ((await readToken(support)) !== undefined)
    return `\nThe setup was stopped. This Mac is paired, but nothing is installed. ${next}`;
  await rmdir(support).catch(() => undefined);
  return '\nThe setup was stopped. Nothing was changed.';
}

function whyNot(installation: Installation | undefined): string {
  return installation === undefined
    ? 'This machine is not a Mac, so there is no Messages. Run the setup on the Mac that sends the texts.'
    : 'This is a checkout, which has no compiled program to install. Make an archive with npm run pack -- agent and npm pack, and install that.';
}

/** Returns an exit code when this Mac could not be paired. */
async function pairing(
  options: SetupOptions,
  { settings, terminal }: SetupDeps,
): Promise<number | undefined> {
  const { dataDir, url, location, license } = settings;
  const token = await readToken(dataDir);
  if (options.code === undefined && token !== undefined && token.url === url && location !== undefined) {
    return sayPaired(url, terminal);
  }
  if (options.code === undefined && url !== undefined && location !== undefined && license !== undefined)
    return await activating(settings, terminal);
  for (let given = options.code; ; given = undefined) {
    const code = given ?? (await terminal.ask('Pairing code (Return if you have a license key instead):'));
    const withLicense = code === '' ? await askLicense(settings, terminal) : undefined;
    if (code === undefined || (code === '' && withLicense === undefined)) {
      terminal.complain(
        'A pairing code is needed: footbridge-agent setup --code CODE, or --url, --license and --location.',
      );
      return EXIT.usage;
    }
    const problem =
      withLicense === undefined
        ? await pairingWith(code, settings, terminal)
        : await activating(withLicense, terminal);
    if (problem === undefined || !terminal.interactive) return problem;
  }
}

async function pairingWith(
  code: string,
  settings: Settings,
  terminal: Terminal,
): Promise<number | undefined> {
  const paired = await pairMac(code, settings);
  if (!paired.ok) {
    terminal.complain(`${paired.message}.`);
    return paired.exitCode;
  }
  return sayPaired(paired.url, terminal);
}

/** Asks for what a pairing code contains. Resolves with undefined when input is not a terminal. */
async function askLicense(settings: Settings, terminal: Terminal): Promise<Settings | undefined> {
  for (;;) {
    const address = await terminal.ask('Service address, such as bridge.example.com:');
    if (address === undefined) return undefined;
    const url = readAddress(address);
    if (url === undefined) {
      terminal.complain('This is not a valid address.');
      continue;
    }
    const license = await terminal.askSecret('License key (not shown while you type):');
    const location = await terminal.ask('Location id (from the operator of the service):');
    if (license === undefined || location === undefined) return undefined;
    if (license !== '' && location !== '') return { ...settings, url, license, location };
    terminal.complain('The license key and the location id are both needed.');
  }
}

async function activating(settings: Settings, terminal: Terminal): Promise<number | undefined> {
  const { dataDir, url = '', location = '' } = settings;
  const activated = await activateMac(settings);
  if (activated?.ok !== true) {
    terminal.complain(`${activated?.message ?? 'The service address is missing'}.`);
    return EXIT.unauthorised;
  }
  await saveSettings(dataDir, { [SETTINGS.url.name]: url, [SETTINGS.location.name]: location });
  return sayPaired(url, terminal);
}

function sayPaired(url: string, terminal: Terminal): undefined {
  terminal.confirm(`This Mac is paired with ${url}.`);
  warnIfUnencrypted(url, { warning: (text) => terminal.caution(text) });
}

/** Installs and starts the agent. Resolves with the reason when the agent does not start. */
async function install(
  root: string,
  { installation, terminal, clock }: SetupDeps,
): Promise<string | undefined> {
  const { layout, launchAgent } = installation;
  await installVersion(layout, root, AGENT_VERSION);
  await saveSettings(layout.support, { [SETTINGS.logFile.name]: layout.logFile });
  comeBack(layout.support);
  await stopAgent(layout.support, clock);
  const noApp = await installWorkingApp(root, installation, terminal);
  if (noApp !== undefined) return noApp;
  const refused = await launchAgent.install();
  if (refused !== undefined) return `launchd does not start the agent: ${refused}`;
  const start = await agentStarted(layout.support, clock);
  if (!start.started)
    return start.because === undefined
      ? `The agent does not start. Its log: ${layout.logFile}`
      : stopped(start.because);
  terminal.confirm(`Footbridge Agent ${AGENT_VERSION} is installed and running.`);
  return undefined;
}

const stopped = (because: string): string =>
  `The agent stopped: ${because}\nIf this Mac has to be paired again: footbridge-agent setup --code CODE`;

/** Starts a new app once, to test whether macOS allows it. Resolves with the reason when neither the app nor an applet can be used. */
async function installWorkingApp(
  root: string,
  { layout: { app }, programs }: Installation,
  terminal: Terminal,
): Promise<string | undefined> {
  const outcome = await installApp(app, root);
  if (outcome === 'kept') return undefined;
  if (outcome === 'replaced')
    terminal.say('A newer app was installed, so macOS asks for its permissions again.');
  const opened = await runProgram(programs.open, ['-g', '-j', '-a', app]);
  if (opened.ok) return undefined;
  terminal.say('macOS does not start the app, so an applet is made in its place.');
  const problem = await installApplet(app, root, programs);
  return problem === undefined
    ? undefined
    : `macOS does not start the app (${opened.stderr.trim()}) and cannot make an applet (${problem}). Send this line to the operator of the service.`;
}

async function testText(given: string | undefined, { installation, terminal }: SetupDeps): Promise<number> {
  const to = given ?? (await terminal.ask('\nYour own mobile number, for a test text (Return skips it):'));
  if (to === undefined || to === '') {
    terminal.say('\nYour Mac is ready.');
    return EXIT.done;
  }
  const { support } = installation.layout;
  const text = 'Your Mac is ready. This text was sent by Footbridge.';
  const result = await callAgent(support, { call: 'sendText', to: to.replaceAll(/[\s().-]/g, ''), text });
  if (result.state === 'delivered') {
    terminal.confirm('The test text was sent.');
    terminal.say('\nYour Mac is ready.');
    return EXIT.done;
  }
  terminal.complain(`The test text was not sent: ${result.message}`, 'footbridge-agent doctor');
  return EXIT.failed;
}
