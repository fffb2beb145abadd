import { decideOptOut, importOptOuts, listOptOuts } from '@footbridge/protocol/operator/people';
import type { BodyOf } from '@footbridge/protocol/operator/call';

import type { OptOutImport } from './import-opt-outs.ts';
import type { Host } from '../../platform/host.ts';
import type { Suppressions } from './suppression-filter.ts';
import type { SuppressionView } from './suppressions-sql.ts';
import { visibleLocations } from '../../platform/operator/operator-auth.ts';
import { isoTime, operatorError } from '../../platform/operator/operator-request.ts';
import type { Phones } from '../../relay/people/handles.ts';

export interface OptOutCallsDeps {
  readonly suppressions: Pick<Suppressions, 'set' | 'list'>;
  readonly imports: OptOutImport;
  readonly phones: Pick<Phones, 'handle'>;
  /** The id of the key for new hashes. */
  readonly keyId: string;
}

type Import = BodyOf<typeof importOptOuts>;
type Numbers = Extract<Import, { readonly numbers: unknown }>;
type Exported = Extract<Import, { readonly hashes: unknown }>;

/** The calls about the people who opted out of texts (E4). Only hashes of their numbers are stored, so no response contains a number. */
export function serveOptOuts(host: Host, { suppressions, imports, phones, keyId }: OptOutCallsDeps): void {
  host.serve(listOptOuts, async ({ query: { locationId, phone, cursor, limit = 200 }, request }) => {
    const page = await suppressions.list({
      locationIds: visibleLocations(request, locationId),
      handle: phone === undefined ? undefined : handleOf(phone),
      after: cursor === undefined ? undefined : readCursor(cursor),
      limit,
    });
    const last = page.at(-1);
    return {
      key: keyId,
      optOuts: page.map(({ since, ...entry }) => ({ ...entry, since: isoTime(since) })),
      cursor: page.length < limit || last === undefined ? null : `${last.hash}.${last.locationId}`,
    };
  });

  host.serve(decideOptOut, async (called) => {
    const { phone, optedOut } = called.body;
    const { locationId } = called.params;
    const handle = handleOf(phone);
    await suppressions.set({ locationId, handle, isSuppressed: optedOut, source: 'operator' });
    await host.audit(called, optedOut ? 'opt_out.added' : 'opt_out.removed', locationId);
  });

  host.serve(importOptOuts, async (called) => {
    const { locationId } = called.params;
    const result =
      'hashes' in called.body ? await restore(locationId, called.body) : await add(locationId, called.body);
    await host.audit(called, 'opt_out.imported', locationId, { numbers: result.imported });
    return result;
  });

  function handleOf(phone: string): string {
    const handle = phones.handle(phone);
    if (handle !== undefined) return handle;
    throw operatorError(
      'INVALID_REQUEST',
      'phone: not a phone number or an email address. Write the number with its country code, such as +15555550100.',
    );
  }

  async function add(locationId: string, { numbers, decidedAt }: Numbers) {
    const at = decidedAt === undefined ? undefined : Date.parse(decidedAt);
    const invalid = await imports.numbers(locationId, numbers, at);
    return { imported: numbers.length - invalid.length, invalid };
  }

  async function restore(locationId: string, { key, hashes }: Exported) {
    const entries = hashes.map(({ since, ...entry }) => ({ ...entry, since: Date.parse(since) }));
    if (!(await imports.exported(locationId, key, entries)))
      throw operatorError(
        'CONFLICT',
        'This export was made with another key, so its hashes match no number here. Add the key of that service to CRM_OAUTH_ENCRYPTION_KEY (after its own key), restart, and import again.',
      );
    return { imported: hashes.length, invalid: [] };
  }
}

function readCursor(cursor: string): Pick<SuppressionView, 'locationId' | 'hash'> {
  const [, hash, locationId] = /^([\w-]{1,64})\.(.{1,256})$/s.exec(cursor) ?? [];
  if (hash === undefined || locationId === undefined)
    throw operatorError('INVALID_REQUEST', 'cursor: must be the cursor of the previous page.');
  return { hash, locationId };
}
