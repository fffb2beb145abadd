import { join } from 'node:path';

import type { Clock } from '@footbridge/runtime/clock';
import { fail, pass } from '@footbridge/runtime/finding';
import type { Finding } from '@footbridge/runtime/finding';

import { ConfigurationError } from '../../../errors.ts';
import { MacStore } from '../macos/mac-store.ts';
import { StoreUnavailableError } from '../messages.ts';
import type { StoreMemory } from '../store-generation.ts';
import { activityFinding, checkBlueBubbles, featureFindings } from './check-server.ts';
import { Features } from './features.ts';
import { readPasswordFile } from './password-file.ts';

export interface ExamineOptions {
  readonly url: string;
  readonly passwordFile: string;
  /** What the agent has remembered about this Mac. It is only read. */
  readonly features: StoreMemory;
  readonly home: string;
  readonly clock: Clock;
}

/** Returns the findings of `doctor` about BlueBubbles: the server, the features of this Mac, and recent messages. */
export async function examineBlueBubbles(options: ExamineOptions): Promise<Finding[]> {
  const { url, passwordFile, features, home, clock } = options;
  let password: string;
  try {
    password = readPasswordFile(passwordFile);
  } catch (error) {
    if (!(error instanceof ConfigurationError)) throw error;
    return [fail('Password', error.message, 'Run footbridge-agent setup, which asks for the password')];
  }
  const { findings } = await checkBlueBubbles({ url, password, clock });
  const shown = featureFindings(new Features(features, clock));
  return [...findings, ...shown, activityOf(home, clock.now())];
}

function activityOf(home: string, now: number): Finding {
  const forget: StoreMemory = { load: () => undefined, save: () => undefined };
  const store = new MacStore({ home, messages: join(home, 'Library/Messages') }, forget);
  try {
    return activityFinding(store, now);
  } catch (error) {
    if (!(error instanceof StoreUnavailableError)) throw error;
    // The agent has a permission of its own, and reports the age of the newest message itself.
    if (error.problem === 'denied')
      return pass('Activity', 'not read: this Terminal has no Full Disk Access');
    return fail(
      'Activity',
      `the message store cannot be read (${error.problem})`,
      'Grant Full Disk Access to the agent, and open Messages once',
    );
  } finally {
    store.close();
  }
}
