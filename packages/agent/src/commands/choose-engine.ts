import { resolve } from 'node:path';

import type { Clock } from '@footbridge/runtime/clock';

import type { Settings } from '../config/config.ts';
import { readSavedSettings } from '../config/saved-settings.ts';
import { SETTINGS } from '../config/settings.ts';
import { writePrivateFile } from '../edges/enrolment/private-file.ts';
import { saveSettings } from '../edges/enrolment/save-settings.ts';
import { ConfigurationError } from '../errors.ts';
import { checkBlueBubbles, findBlueBubbles, passwordFileOf, readPasswordFile } from '../open/bluebubbles.ts';
import { EXIT } from './exit-codes.ts';
import type { Terminal } from './terminal.ts';

export interface EngineDeps {
  readonly settings: Settings;
  readonly terminal: Terminal;
  readonly clock: Clock;
}

const OFFER = `
BlueBubbles is running on this Mac. Footbridge can send through it instead of through its built-in engine.

- BlueBubbles needs its Private API, which works only while System Integrity Protection (SIP) is off. SIP protects
  macOS from harmful programs. Turn it off only on a Mac that has no other purpose.
- On macOS 26 the helper of BlueBubbles may not load, replies may lose their thread, and a Tapback may make
  Messages quit. The built-in engine is the better choice there.
- The built-in engine works while SIP is on. It is off while BlueBubbles is in use.`;

/**
 * Saves which engine sends the messages, and the password of BlueBubbles. Offers BlueBubbles once, when it runs on this Mac. Resolves
 * with an exit code when the chosen engine cannot be used.
 */
export async function chooseEngine(isChosen: boolean, deps: EngineDeps): Promise<number | undefined> {
  const { settings, terminal } = deps;
  if (settings.engine === 'bluebubbles')
    return (await connectBlueBubbles(deps)) ? undefined : EXIT.configuration;
  if (isChosen) await saveEngine('macos', settings);
  else if (terminal.interactive && !isSaved(settings)) await offerBlueBubbles(deps);
  return undefined;
}

async function offerBlueBubbles(deps: EngineDeps): Promise<void> {
  const { settings, terminal, clock } = deps;
  if ((await findBlueBubbles(clock, settings.bluebubblesUrl)) !== 'found') return;
  terminal.say(OFFER);
  const answer = await terminal.ask('\nUse BlueBubbles? Type y, or press Return for the built-in engine:');
  const isAccepted = /^y(es)?$/i.test(answer ?? '');
  if (isAccepted && (await connectBlueBubbles(deps))) return;
  if (!isAccepted) await saveEngine('macos', settings);
  terminal.say('The built-in engine is used. To change it: footbridge-agent setup --engine bluebubbles');
}

/** Asks for the password until BlueBubbles accepts it. Returns false when BlueBubbles cannot be used. */
async function connectBlueBubbles({ settings, terminal, clock }: EngineDeps): Promise<boolean> {
  const { bluebubblesUrl: url } = settings;
  const path = passwordPathOf(settings);
  const saved = savedPassword(path);
  for (let password = saved; ; password = undefined) {
    password ??= await terminal.askSecret('Password of BlueBubbles (it is not shown):');
    if (password === undefined || password === '') {
      terminal.complain(
        'The password of BlueBubbles is missing.',
        `Run footbridge-agent setup in a terminal, or save the password in ${path} with mode 0600`,
      );
      return false;
    }
    const { state, wrongPassword, findings } = await checkBlueBubbles({ url, password, clock });
    for (const { check, state: found, sentence, next } of findings)
      if (found === 'fail') terminal.complain(`${check}: ${sentence}.`, next);
    if (wrongPassword === true && terminal.interactive) continue;
    if (state === 'refused') return false;
    if (password !== saved) await writePrivateFile(path, `${password}\n`);
    await saveEngine('bluebubbles', settings);
    terminal.confirm('Messages are sent through BlueBubbles.');
    return true;
  }
}

/** Returns undefined when the file is missing, empty or readable by other users. */
function savedPassword(path: string): string | undefined {
  try {
    return readPasswordFile(path);
  } catch (error) {
    if (error instanceof ConfigurationError) return undefined;
    throw error;
  }
}

function passwordPathOf({ dataDir, bluebubblesPasswordFile }: Settings): string {
  return resolve(passwordFileOf({ dataDir, bluebubblesPasswordFile }));
}

function isSaved({ dataDir }: Settings): boolean {
  const saved = readSavedSettings(dataDir);
  return typeof saved !== 'string' && saved[SETTINGS.engine.name] !== undefined;
}

/** launchd starts the agent without the environment of the Terminal, so everything that it needs is saved. */
async function saveEngine(engine: 'macos' | 'bluebubbles', settings: Settings): Promise<void> {
  const { dataDir, bluebubblesUrl } = settings;
  await saveSettings(dataDir, {
    [SETTINGS.engine.name]: engine,
    ...(engine === 'bluebubbles' && {
      ...(bluebubblesUrl !== undefined && { [SETTINGS.bluebubblesUrl.name]: bluebubblesUrl }),
      [SETTINGS.bluebubblesPasswordFile.name]: passwordPathOf(settings),
    }),
  });
}
