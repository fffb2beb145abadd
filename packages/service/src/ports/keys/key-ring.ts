import type { Clock } from '../../clock.ts';
import type { Logger } from '../../log.ts';
import type { CrmKeys, KeyRecord, KeyRing, TrustedKey } from './keys.ts';
import { trustedKey } from './trusted-key.ts';

export interface KeyRingParts {
  readonly stored: Pick<CrmKeys, 'list'>;
  /** Keys of the settings, in force whatever the table says. */
  readonly fixed: readonly KeyRecord[];
  readonly clock: Clock;
  readonly log: Logger;
}

export interface LoadedKeyRing extends KeyRing {
  readonly size: number;
  /** Reads the table again. Never rejects: while the table cannot be read the known keys stay and it tries again every second. */
  reload(): Promise<void>;
  close(): void;
}

const CURRENT = 'x-crm-signature';
const LEGACY = 'x-wh-signature';
const RETRY_MS = 1000;

/** Rejects when the table cannot be read at the start: a node without its keys would refuse good webhooks. */
export async function openKeyRing(parts: KeyRingParts): Promise<LoadedKeyRing> {
  const { stored, fixed, clock, log } = parts;
  let ring = arrange([]);
  let reading: Promise<void> | undefined;
  let again = false;
  let cancelRetry = () => {};
  let closed = false;

  async function read(): Promise<void> {
    const records = [...fixed, ...(await stored.list())];
    ring = arrange(records.filter(({ enabled }) => enabled).flatMap((record) => usable(record, log)));
  }

  async function readUntilQuiet(): Promise<void> {
    do {
      again = false;
      try {
        await read();
      } catch (error) {
        log.warn({ err: error }, 'the CRM keys could not be read; the known ones stay in force');
        if (!closed) cancelRetry = clock.after(RETRY_MS, () => void reload());
      }
    } while (again);
    reading = undefined;
  }

  /** A notice that comes while the table is being read leads to one more read: the first may have been too early. */
  function reload(): Promise<void> {
    cancelRetry();
    if (reading === undefined) reading = readUntilQuiet();
    else again = true;
    return reading;
  }

  await read();
  return {
    get headers() {
      return ring.headers;
    },
    get size() {
      return ring.size;
    },
    candidates: (header) => ring.byHeader.get(header) ?? NONE,
    reload,
    close() {
      closed = true;
      cancelRetry();
    },
  };
}

const NONE: readonly TrustedKey[] = [];

function usable(record: KeyRecord, log: Logger): TrustedKey[] {
  try {
    return [trustedKey(record)];
  } catch (error) {
    log.error(
      { keyId: record.id, err: error },
      'a stored CRM key cannot be used; remove it and add it again',
    );
    return [];
  }
}

function arrange(keys: readonly TrustedKey[]) {
  const byHeader = Map.groupBy(keys, ({ header }) => header.toLowerCase());
  const rank = (header: string): number => {
    if (header === CURRENT) return 0;
    if (header === LEGACY) return 3;
    return byHeader.get(header)?.some(({ scheme }) => scheme === 'Ed25519') ? 1 : 2;
  };
  const headers = [...new Set([CURRENT, ...byHeader.keys()])].sort(
    (left, right) => rank(left) - rank(right) || (left < right ? -1 : 1),
  );
  return { headers, byHeader, size: keys.length };
}
