import { readConsole } from '@footbridge/console/console-files';

import type { Feature } from '../../platform/host.ts';
import { consoleRoutes } from './console-routes.ts';

/** The operator's web pages. */
export const consolePages: Feature<{}, {}> = {
  name: 'console',
  start(host) {
    host.pages(consoleRoutes(readConsole()));
  },
};
