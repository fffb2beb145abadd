#!/usr/bin/env node
import { fileURLToPath } from 'node:url';

import { launch } from '../../../scripts/run.mjs';

launch(fileURLToPath(new URL('../src/main.ts', import.meta.url)), process.argv.slice(2));
