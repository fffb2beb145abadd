import process from 'node:process';

import { remote } from '../control.ts';
import type { MessagesOperations } from './operations.ts';

// `open ARGUMENTS`: records that it was called. The first argument is the control port of the simulated Messages.
const [controlUrl = '', ...args] = process.argv.slice(2);
await remote<MessagesOperations>(controlUrl).recordCall({ program: 'open', arguments: args });
