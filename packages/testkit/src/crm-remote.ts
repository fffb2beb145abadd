import { remote } from './control.ts';
import type { Remote } from './control.ts';
import type { CrmOperations } from './crm/operations.ts';

/** A client for the control port of a CRM in another process, with one asynchronous function per operation. */
export type RemoteCrm = Remote<CrmOperations>;

export function remoteCrm(controlUrl: string): RemoteCrm {
  return remote<CrmOperations>(controlUrl);
}
