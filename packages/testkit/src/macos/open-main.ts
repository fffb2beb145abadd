import process from 'node:process';

import { remote } from '../control.ts';
import type { MessagesOperations } from './operations.ts';

// `open ARGUMENTS`: starts Messages. The first argument is the control port of the simulated Messages.
const [controlUrl = '', ...args] = process.argv.slice(2);
const macos = remote<MessagesOperations>(controlUrl);
await macos.recordCall({ program: 'open', arguments: args });
if (args.at(-1) === 'Messages') await macos.startMessages();
