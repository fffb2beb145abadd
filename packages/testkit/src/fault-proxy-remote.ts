import { remote } from './control.ts';
import type { Remote } from './control.ts';
import type { FaultOperations } from './fault-proxy/operations.ts';

/** A client for the control port of fault proxies in another process. Every operation takes the name of a link. */
export type RemoteFaults = Remote<FaultOperations>;

export function remoteFaults(controlUrl: string): RemoteFaults {
  return remote<FaultOperations>(controlUrl);
}
