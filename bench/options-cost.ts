// Measures the cost per message of the optional features: node scripts/run.mjs bench/options-cost.ts [--rounds 60] [--messages 300] [--macs 200]
import { parseArgs } from 'node:util';

import { openHarness } from './harness.ts';
import { footbridge } from './candidates/footbridge.ts';
import { findPinning } from './measure/pinning.ts';
import { ratios, spread } from './measure/statistics.ts';
import { measureCosts, warmUp } from './scenarios/costs.ts';
import { inbound, outbound } from './scenarios/work.ts';

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
const BASELINE = 'all off';
/** Two runs of the same program also differ; this candidate shows by how much. */
const CONTROL = 'all off again';
const CANDIDATES = [
  footbridge({ name: BASELINE }),
  footbridge({ name: CONTROL }),
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
const rounds = { rounds: Number(values.rounds), messages: Number(values.messages) };
const pinning = findPinning();
if (pinning.note !== undefined) console.log(`note: ${pinning.note}`);
const harness = await openHarness({ pinning });
try {
  const running = [];
  for (const candidate of CANDIDATES) running.push(await harness.start(candidate, Number(values.macs)));
  for (const [path, work] of Object.entries({ outbound, inbound })) {
    await warmUp(harness, running, work, 10 * rounds.messages);
    const costs = await measureCosts(harness, running, work, rounds);
    const baseline = costs[BASELINE] ?? [];
    for (const { name } of running) {
      const micros = spread(costs[name] ?? []).median.toFixed(0);
      const { median, q1, q3 } = spread(ratios(costs[name] ?? [], baseline));
      console.log(
        `${path.padEnd(9)} ${name.padEnd(28)} ${micros} µs, ${median.toFixed(3)} × (${q1.toFixed(3)}–${q3.toFixed(3)})`,
      );
    }
  }
} finally {
  await harness.close();
}
