import type { ResponseOf } from '@footbridge/protocol/operator/call';
import { listKeys as list } from '@footbridge/protocol/operator/crm';
import { everyPage } from '@footbridge/protocol/operator/every-page';

import type { OperatorClient } from './operator-client.ts';

/** A CRM key that may sign webhooks, as the operator API returns it. */
export type Key = ResponseOf<typeof list>['keys'][number];

export const listKeys = (client: OperatorClient): Promise<readonly Key[]> =>
  everyPage(
    (page) => client.ask(list, page),
    ({ keys }) => keys,
  );
