import { remote } from './control.ts';
import type { Remote } from './control.ts';
import type { FaultOperations } from './fault-proxy/operations.ts';

/** Fault proxies in another process, through their control port; every operation names its link. */
export type RemoteFaults = Remote<FaultOperations>;

export function remoteFaults(controlUrl: string): RemoteFaults {
  return remote<FaultOperations>(controlUrl);
}
