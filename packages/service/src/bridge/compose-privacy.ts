import type { FastifyInstance } from 'fastify';

import type { BridgeContext } from './context.ts';
import { optOutsRoutes } from '../edges/operator/opt-outs-routes.ts';
import { createOptOutImport } from '../flows/opt-out/import-opt-outs.ts';
import { phoneCheck } from '../flows/outbound/check-phone.ts';
import type { Audit } from '../ports/audit/audit.ts';
import type { KeyedHash } from '../ports/journal/keyed-hash.ts';
import type { Suppressions } from '../ports/suppressions/suppressions.ts';

export interface PrivacyDeps {
  readonly suppressions: Suppressions;
  readonly handleHash: KeyedHash;
  readonly audit: Audit;
}

/** The operator's routes about single people: who opted out. */
export function composePrivacy(
  { config, clock }: BridgeContext,
  { suppressions, handleHash, audit }: PrivacyDeps,
): (app: FastifyInstance) => void {
  const checkPhone = phoneCheck(config.limits.phoneDefaultCountry);
  const asHandle = (given: string): string | undefined => {
    if (given.includes('@')) return given.trim();
    const phone = checkPhone(given.trim());
    return typeof phone === 'string' ? phone : undefined;
  };
  const { keyIds } = handleHash;
  const imports = createOptOutImport({ suppressions, asHandle, keyIds, now: () => clock.now() });
  return optOutsRoutes({ suppressions, imports, asHandle, keyId: keyIds[0] ?? '', audit });
}
