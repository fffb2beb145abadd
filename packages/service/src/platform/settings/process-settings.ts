import { FAILPOINT_RULE, isFailpointList } from '@footbridge/runtime/failpoints';

import { choice, fail, flag } from './parsers.ts';
import { settingIn } from './setting.ts';

const failpoints = (value: string) => (isFailpointList(value) ? value : fail(FAILPOINT_RULE));

const setting = settingIn('Process');

/** Settings of the process. */
export const PROCESS = {
  allowInsecure: setting(
    'ALLOW_INSECURE',
    'false',
    flag,
    'true accepts http: addresses of the CRM and trivial secrets, for tests on a private network. Calls to this machine itself may always use http:.',
  ),
  logLevel: setting(
    'LOG_LEVEL',
    'info',
    choice('debug', 'info', 'warn', 'error', 'silent'),
    'Minimum level that is logged.',
  ),
  accessLog: setting(
    'ACCESS_LOG',
    'false',
    flag,
    'Log each response: method, route, status, duration, size and request id, but no path, query, phone number or message text.',
  ),
  failpoints: setting(
    'FAILPOINTS',
    undefined,
    failpoints,
    'For crash tests only: points at which the process exits, pauses or throws.',
  ),
} as const;
