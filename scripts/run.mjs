// `node scripts/run.mjs <file.ts> …` runs a file of this checkout on a Node that can run TypeScript.
import process from 'node:process';

import { launch } from '../packages/runtime/src/launch.js';

const [, , entry, ...args] = process.argv;
await launch(entry, args);
