import * as access from './access.ts';
import * as accounts from './accounts.ts';
import type { Call } from './call.ts';
import * as crm from './crm.ts';
import * as messages from './messages.ts';
import * as people from './people.ts';
import * as watching from './watching.ts';

/** Every call of the operator API, by name. Not in it: the session of a browser, events, probes and pages. */
export const OPERATOR_CALLS: readonly (Call & { readonly name: string })[] = Object.entries<Call>({
  ...access,
  ...accounts,
  ...watching,
  ...messages,
  ...people,
  ...crm,
}).map(([name, definition]) => ({ name, ...definition }));
