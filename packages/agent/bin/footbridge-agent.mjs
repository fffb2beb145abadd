#!/usr/bin/env node
import process from 'node:process';
import { fileURLToPath } from 'node:url';

import { launch } from '@footbridge/runtime/launch.js';

await launch(fileURLToPath(new URL('../src/main.ts', import.meta.url)), process.argv.slice(2));
