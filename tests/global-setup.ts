import { CHROMIUM } from '@footbridge/testkit/servers/chromium';
import { shareFindings } from '@footbridge/testkit/servers/findings';
import { NGINX } from '@footbridge/testkit/servers/nginx';
import { POSTGRES } from '@footbridge/testkit/servers/postgres';
import { REDIS } from '@footbridge/testkit/servers/redis';

/** Servers and browsers are searched for, checked and reported once per run, not once per test file. */
export default () => shareFindings([CHROMIUM, NGINX, POSTGRES, REDIS]);
