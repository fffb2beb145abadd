// Measures the cost per message of the optional features: node scripts/run.mjs bench/options-cost.ts [--rounds 60] [--messages 300] [--macs 200]
import { parseArgs } from 'node:util';

import { footbridge } from './candidates/footbridge.ts';
import { compareCosts } from './scenarios/compare.ts';

/** All features that run for every message, and alerts. Nothing listens at the alert address: no issue opens in this run. */
const ALL_ON = {
  OPT_OUT_WORDS: 'true',
  OPT_OUT_ENFORCED: 'true',
  CRM_MIRROR_SENT: 'true',
  CRM_SEND_ALT_ID: 'true',
  MESSAGE_MAX_AGE_SEC: '86400',
  ALERT_WEBHOOK_URL: 'http://127.0.0.1:9/',
  ALERT_WEBHOOK_SECRET: `whsec_${Buffer.alloc(32, 1).toString('base64')}`,
  ALERT_ALLOW_PRIVATE: 'true',
};
const CANDIDATES = [
  footbridge({ name: 'all off' }),
  // Two runs of the same program also differ; this candidate shows by how much.
  footbridge({ name: 'all off again' }),
  footbridge({ name: 'all on', env: ALL_ON }),
  footbridge({ name: 'all on but OPT_OUT_ENFORCED', env: { ...ALL_ON, OPT_OUT_ENFORCED: 'false' } }),
];

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '60' },
    messages: { type: 'string', default: '300' },
    macs: { type: 'string', default: '200' },
  },
});
await compareCosts(CANDIDATES, Number(values.macs), {
  rounds: Number(values.rounds),
  messages: Number(values.messages),
});
