import type { Host } from '../../platform/host.ts';
import { createMemoryLimits } from '../../platform/limits/limits-memory.ts';
import type { ValuesOf } from '../../platform/settings/setting.ts';
import { sodium } from '../../platform/sodium.ts';
import { openKeyRing } from './key-ring.ts';
import { keyRoutes } from './keys-routes.ts';
import { crmKeys } from './keys-sql.ts';
import { RecentRejections } from './recent-rejections.ts';
import type { KEYS } from './settings.ts';
import { settingsKeys } from './settings-keys.ts';
import type { KeySettings } from './settings-keys.ts';
import type { SignatureDeps, SignatureFault } from './verify-signature.ts';

export interface KeysRoom {
  readonly signatures: SignatureDeps;
  /** Counts a rejected signature. */
  rejected(fault: SignatureFault): void;
  /** Replaces the keys of the settings. Throws StartError when one is invalid; the former ones then stay in use. */
  replaceKeys(settings: KeySettings): Promise<void>;
}

/** The CRM's public keys, from the settings and from the operator. */
export async function openKeys(host: Host, settings: ValuesOf<typeof KEYS>): Promise<KeysRoom> {
  const { db, clock, log, changes, metrics } = host;
  const keys = crmKeys(db, () => clock.now());
  let fixed = settingsKeys(settings);
  const ring = await openKeyRing({ stored: keys, fixed: () => fixed, clock, log });
  host.stops('keys', () => ring.close());
  host.stops(
    'key changes',
    changes.listen('keys', () => void ring.reload()),
  );
  if (sodium === null)
    log.warn(
      { event: 'keys.libsodium_missing' },
      'libsodium cannot be loaded on this platform; signatures are verified by OpenSSL at twice the cost',
    );
  warnWithoutKeys();

  const rejections = new RecentRejections(() => clock.now());
  host.operatorRoutes(
    keyRoutes({
      keys,
      fixed: () => fixed,
      lastUsed: (id) => ring.lastUsed(id),
      reload: () => ring.reload(),
      rejections: () => rejections.list(),
      changes,
      audit: host.auditLog,
    }),
  );
  return {
    signatures: {
      keys: ring,
      unsigned: createMemoryLimits(clock),
      unsignedPerMinute: settings.unsignedPerMinute,
    },
    rejected(fault) {
      metrics.signatureRejected(fault.step);
      rejections.add(fault);
    },
    async replaceKeys(given) {
      fixed = settingsKeys(given);
      await ring.reload();
      warnWithoutKeys();
    },
  };

  function warnWithoutKeys(): void {
    if (ring.size === 0)
      log.warn(
        { event: 'keys.none_trusted' },
        'no CRM key is trusted, so every webhook gets 401; add a key with footbridge keys add',
      );
  }
}
