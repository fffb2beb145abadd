// Loaded before the program of the sandboxed child process: takes from it what Node's permission model leaves.
import { syncBuiltinESMExports } from 'node:module';
import os from 'node:os';

import { setPriorityIfAllowed } from './process-priority.ts';

const NICENESS = 5;

setPriorityIfAllowed(NICENESS);
// A signal to the whole process group stops the service, which then stops this process.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => undefined);

// Where the service is not started by root, this process has its user: it could stop, slow down or debug the service.
for (const [owner, names] of [
  [process, ['kill', '_kill', '_debugProcess', '_debugEnd']],
  [os, ['setPriority']],
] as const)
  for (const name of names) Reflect.deleteProperty(owner, name);
syncBuiltinESMExports();
