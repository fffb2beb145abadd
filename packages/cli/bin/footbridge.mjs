#!/usr/bin/env node
import process from 'node:process';
import { fileURLToPath } from 'node:url';

import { launch } from '@footbridge/runtime/launch.js';

/** Commands that are separate programs. */
const PROGRAMS = new Map([
  ['start', '../../service/src/main.ts'],
  ['demo', '../../demo/src/main.ts'],
]);

const [command = '', ...args] = process.argv.slice(2);
const program = PROGRAMS.get(command);
if (program === undefined)
  await launch(fileURLToPath(new URL('../src/main.ts', import.meta.url)), process.argv.slice(2));
else await launch(fileURLToPath(new URL(program, import.meta.url)), args);
