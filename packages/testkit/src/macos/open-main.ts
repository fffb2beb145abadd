import process from 'node:process';

import { remote } from '../control.ts';
import type { MessagesOperations } from './operations.ts';

// `open ARGUMENTS`: starts Messages or Footbridge Agent.app. The first argument is the control port of the simulated macOS.
const [controlUrl = '', ...args] = process.argv.slice(2);
const macos = remote<MessagesOperations>(controlUrl);
await macos.recordCall({ program: 'open', arguments: args });
const app = args.at(-1) ?? '';
if (app === 'Messages') await macos.startMessages();
if (args.includes('-a') && app.endsWith('.app')) {
  await macos.openApp({ app, wait: args.includes('-W') }).catch(() => {
    process.stderr.write(
      'The application cannot be opened for an unexpected reason, error=Error Domain=NSOSStatusErrorDomain Code=-10810\n',
    );
    process.exitCode = 1;
  });
}
