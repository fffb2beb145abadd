import { findSite } from '@footbridge/site/site-files';

import type { Feature } from '../../platform/host.ts';
import { docsRoutes } from './docs-routes.ts';

/** The documentation as web pages. */
export const docs: Feature<{}, {}> = {
  name: 'docs',
  start(host) {
    host.pages(docsRoutes(findSite));
  },
};
