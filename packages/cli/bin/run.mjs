// Runs the command line in this process.
import { fileURLToPath, pathToFileURL } from 'node:url';

import { bundleOf } from '@footbridge/runtime/bundle.js';

const main = fileURLToPath(new URL('../src/main.ts', import.meta.url));
await import(pathToFileURL(bundleOf(main)).href);
