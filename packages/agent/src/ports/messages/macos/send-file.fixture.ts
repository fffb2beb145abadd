import { systemClock } from '@footbridge/runtime/clock';

import { MacMessages } from './mac-messages.ts';
import type { MacPrograms } from './mac-messages.ts';
import type { LocalFile } from '../messages.ts';

/** The first argument of the program, as JSON. */
export interface FileToSend {
  readonly home: string;
  readonly programs: MacPrograms;
  readonly handle: string;
  readonly file: LocalFile;
}

/** Sends one file through a simulated Mac, in a process that can have limits of its own. Prints the result as JSON. */
const { home, programs, handle, file } = JSON.parse(process.argv[2] ?? '') as FileToSend;
const memory = { load: () => undefined, save: () => undefined };
const messages = await MacMessages.open({ home, programs, memory, clock: systemClock, uiAutomation: false });
const result = await messages.send({ kind: 'file', file }, { to: 'person', handle, service: 'iMessage' });
messages.close();
process.stdout.write(`${JSON.stringify(result)}\n`);
