import type { FastifyInstance } from 'fastify';

import type { AssetSide } from './compose-assets.ts';
import type { BridgeContext } from './context.ts';
import { optOutsRoutes } from '../features/opt-out/opt-outs-routes.ts';
import { privacyRoutes } from '../features/privacy/privacy-routes.ts';
import { reachRoutes } from '../features/reach/reach-routes.ts';
import { retentionRoutes } from '../features/retention/retention-routes.ts';
import type { TextCapture } from '../features/capture/text-capture.ts';
import { createOptOutImport } from '../features/opt-out/import-opt-outs.ts';
import type { Phones } from '../relay/people/phones.ts';
import { createPersonData } from '../features/privacy/person-data.ts';
import type { ContactMemory } from '../features/privacy/person-data.ts';
import type { ReachQuery } from '../features/reach/ask-reach.ts';
import type { ReachWriter } from '../features/reach/write-reach.ts';
import type { Audit } from '../platform/operator/audit.ts';
import type { Changes } from '../platform/changes/changes.ts';
import type { PersonJournal } from '../relay/journal/journal.ts';
import type { KeyedHash } from '../relay/people/keyed-hash.ts';
import type { ReachFields } from '../features/reach/reach-fields.ts';
import type { Retention } from '../features/retention/retention.ts';
import type { Suppressions } from '../features/opt-out/suppressions.ts';

export interface PrivacyDeps {
  readonly suppressions: Suppressions;
  readonly retention: Retention;
  readonly handleHash: KeyedHash;
  readonly audit: Audit;
  readonly journal: PersonJournal;
  readonly contacts: ContactMemory & { forgetContacts(locationId?: string): void };
  readonly files: Pick<AssetSide, 'assets' | 'index'>;
  readonly capture: TextCapture;
  readonly changes: Changes;
  readonly reach: ReachQuery;
  readonly phones: Phones;
  readonly reachFields: ReachFields;
  readonly reachWriter: Pick<ReachWriter, 'learned'> | undefined;
  readonly publicUrl: () => string;
}

/** The operator's routes about individual people: who opted out, how they are reached, and the data that the service has about a person. */
export function composePrivacy(
  { config, clock, life }: BridgeContext,
  deps: PrivacyDeps,
): (app: FastifyInstance) => void {
  const { suppressions, handleHash, audit, capture, contacts, changes, reach, phones } = deps;
  life.add(
    'erased people',
    changes.listen('person_erased', (subject) => {
      const locationId = subject === '*' ? undefined : subject;
      contacts.forgetContacts(locationId);
      capture.forgetTexts(locationId);
      reach.forget(locationId);
    }),
  );
  const { keyIds } = handleHash;
  const imports = createOptOutImport({ suppressions, phones, keyIds, now: () => clock.now() });
  return (app) => {
    optOutsRoutes({ suppressions, imports, phones, keyId: keyIds[0] ?? '', audit })(app);
    privacyRoutes({
      person: createPersonData({ ...deps, ...deps.files }),
      handlesOf: (given) => (phones.handle(given) === undefined ? [] : phones.forms(given.trim())),
      textOf: (locationId, id) => capture.textOf(locationId, id),
      publicUrl: deps.publicUrl,
      audit,
    })(app);
    reachRoutes({
      async reachOf(locationId, handle) {
        const found = await reach.of(locationId, handle);
        if (found !== 'not_connected') deps.reachWriter?.learned(locationId, handle, found.reach);
        return found;
      },
      phones,
    })(app);
    retentionRoutes({
      retention: deps.retention,
      index: deps.files.index,
      defaults: { journalDays: config.retentionDays, assetDays: config.assets.retentionDays },
      audit,
    })(app);
  };
}
