import { writeSync } from 'node:fs';
import process from 'node:process';

import { remote } from '../control.ts';
import type { MessagesOperations } from './operations.ts';
import type { SystemProgram } from './system-commands.ts';

// `PROGRAM ARGUMENTS`, for a program that only prints and ends. The first arguments are the control port of the simulated macOS
// and the name of the program.
const [controlUrl = '', name = '', ...args] = process.argv.slice(2);
const macos = remote<MessagesOperations>(controlUrl);
const call = { program: name as SystemProgram, arguments: args };
await macos.recordCall(call);
const { stdout = '', stderr = '', exitCode = 0, end } = await macos.runCommand(call);
writeSync(1, stdout);
writeSync(2, stderr);
if (end === 'killed') process.kill(process.pid, 'SIGKILL');
if (end === 'hang') await new Promise((resolve) => setTimeout(resolve, 600_000));
process.exitCode = exitCode;
