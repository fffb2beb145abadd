import { CHROMIUM } from '@footbridge/testkit/servers/chromium';
import { shareFindings } from '@footbridge/testkit/servers/findings';
import { CADDY } from '@footbridge/testkit/servers/caddy';
import { NGINX } from '@footbridge/testkit/servers/nginx';
import { POSTGRES } from '@footbridge/testkit/servers/postgres';
import { PROMETHEUS } from '@footbridge/testkit/servers/prometheus';
import { REDIS } from '@footbridge/testkit/servers/redis';

import { PACKED_AGENT } from './mac/packed-agent.ts';

/** Servers and browsers are searched for, and the agent is packed, once per run, not once per test file. */
export default () => shareFindings([CADDY, CHROMIUM, NGINX, POSTGRES, PROMETHEUS, REDIS, PACKED_AGENT]);
