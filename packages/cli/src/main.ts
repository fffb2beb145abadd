import { ignoreDebuggerSignal } from '@footbridge/runtime/debugger-signal.js';
import { onStopSignal } from '@footbridge/runtime/stop-signals';

import { CliError, EXIT } from './cli-error.ts';
import type { Io } from './io.ts';
import { createOutput } from './output.ts';
import { run } from './run.ts';
import { loadEnvFile } from './service-target.ts';

ignoreDebuggerSignal();
const cleanups: Io['cleanups'] = new Set();

/** Exits quietly when the reader of a pipe, such as `head`, has read enough, and with an error when the disk is full. */
for (const stream of [process.stdout, process.stderr])
  stream.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') process.exit(EXIT.done);
    const failure = new CliError(`the output cannot be written: ${error.code ?? error.message}`, {
      next: 'free some space or write to another file, then run the command again',
      cause: error,
    });
    const json = process.argv.includes('--json');
    createOutput({ json, quiet: false }, process.stdout, process.stderr).error(failure);
    process.exit(failure.exitCode);
  });

/** The first Ctrl-C exits after the cleanups, the second one at once. */
const exit = () => process.exit(EXIT.interrupted);
onStopSignal(
  ['SIGINT'],
  () => {
    const pending = [...cleanups];
    cleanups.clear();
    void Promise.allSettled(pending.map((cleanup) => cleanup())).then(exit);
  },
  exit,
);

// All times are printed in the time zone of the process.
if (process.argv.includes('--utc')) process.env['TZ'] = 'UTC';
loadEnvFile();
const { env, stdin, stdout, stderr } = process;
process.exitCode = await run(process.argv.slice(2), { env, stdin, stdout, stderr, cleanups });
