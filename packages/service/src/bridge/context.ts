import type { Clock } from '@footbridge/runtime/clock';
import type { Lifecycle } from '@footbridge/runtime/lifecycle';
import type { Log } from '@footbridge/runtime/log';

import type { Config } from '../platform/settings/config.ts';
import type { Metrics } from '../platform/metrics/metrics.ts';

/** Everything that the parts of the composition share. Only this folder sees all of it: a part receives what it uses. */
export interface BridgeContext {
  readonly config: Config;
  readonly log: Log;
  readonly clock: Clock;
  readonly life: Lifecycle;
  readonly metrics: Metrics;
  /** Resolves with whether expired data may be deleted: not while the clock is wrong. */
  readonly mayDelete: () => Promise<boolean>;
  /** The id of this process; every start has a new one. */
  readonly node: string;
}
