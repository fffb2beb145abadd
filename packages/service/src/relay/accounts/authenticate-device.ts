import { every } from '@footbridge/runtime/clock';
import type { Clock } from '@footbridge/runtime/clock';
import type { Log } from '@footbridge/runtime/log';

import type { Changes } from '../../platform/changes/changes.ts';
import type { Devices, Standing } from './devices-sql.ts';
import { hashSecret, isDeviceToken, sameHash } from './secret-hash.ts';
import { Batcher, MAX_BATCH, nextTurn } from '../../platform/batcher.ts';

/**
 * - `suspended`: the license is suspended.
 * - `inactive`: the device or its license is no longer active.
 * - `replaced`: the device was activated again and has another token.
 */
export type AuthStatus = 'active' | 'suspended' | 'inactive' | 'replaced';

/**
 * The device that a token belongs to: one object per token, shared by all callers on this node. `status` never returns to `active`
 * once it has changed, and every holder of the object sees the change.
 */
export interface DeviceIdentity {
  readonly tokenHash: string;
  readonly deviceRow: string;
  readonly deviceId: string;
  readonly licenseId: string;
  /** The only location that the token is good for. Null: any location of the license. */
  readonly onlyLocation: string | null;
  /** The versions that the Mac reported last. */
  osVersion: string;
  appVersion: string;
  readonly status: AuthStatus;
}

interface CachedDevice extends DeviceIdentity {
  status: AuthStatus;
  /** The number of open sockets. The device stays cached while there are any. */
  holders: number;
  idleSince: number;
  /** The number of change notices for this device that were not checked yet. */
  unchecked: number;
}

export interface DeviceAuthDeps {
  readonly devices: Pick<Devices, 'standingsByToken' | 'standingsByRow'>;
  readonly changes: Pick<Changes, 'listen'>;
  readonly clock: Clock;
  readonly log: Log;
}

/** A disconnected device stays cached this long, so that mass reconnects need no queries. */
const IDLE_MS = 600_000;
/** Every cached device is re-checked once per round: a change notice is lost if its node dies before sending it. */
const ROUND_SEC = 300;
const RETRY_MS = 1000;

/** Authenticates device tokens (M7) from a cache that change notices keep up to date (M8). */
export class DeviceAuth {
  readonly #devices: DeviceAuthDeps['devices'];
  readonly #clock: Clock;
  readonly #log: Log;
  /** By token hash. Only valid tokens are cached, so that invalid ones cannot fill the memory. */
  readonly #cache = new Map<string, CachedDevice>();
  readonly #byToken: Batcher<string, Standing>;
  readonly #byRow: Batcher<string, Standing>;
  readonly #unchecked = new Set<CachedDevice>();
  readonly #listeners = new Set<() => void>();
  readonly #cleanup: (() => void)[];
  #round: Iterator<CachedDevice> | undefined;
  #checking: Promise<void> | undefined;
  #notices = 0;
  #isNotifying = false;
  readonly #closed = new AbortController();

  constructor({ devices, changes, clock, log }: DeviceAuthDeps) {
    this.#devices = devices;
    this.#clock = clock;
    this.#log = log;
    this.#byToken = new Batcher((hashes) => devices.standingsByToken(hashes));
    this.#byRow = new Batcher((rows) => devices.standingsByRow(rows));
    this.#cleanup = [
      changes.listen('license', (id) => this.#onNotice((device) => id === '*' || device.licenseId === id)),
      changes.listen('device', (row) => this.#onNotice((device) => row === '*' || device.deviceRow === row)),
      every(clock, 1000, () => void this.#checkNext()),
    ];
  }

  /**
   * Resolves with the device of a token, in any status, or undefined when there is none. Rejects when the database is unavailable.
   */
  async authenticate(token: string): Promise<DeviceIdentity | undefined> {
    if (!isDeviceToken(token)) return undefined;
    const tokenHash = hashSecret(token);
    const cached = this.#cache.get(tokenHash);
    if (cached === undefined) return this.#lookUp(tokenHash);
    return cached.unchecked === 0 ? cached : this.#checked(cached);
  }

  /** Resolves with the current status. Waits for the check of change notices that have arrived. */
  async confirm(device: DeviceIdentity): Promise<AuthStatus> {
    const cached = this.#cache.get(device.tokenHash);
    if (cached === device && cached.unchecked > 0) await this.#checked(cached);
    return device.status;
  }

  /** Call when a socket of the device opens: keeps the device cached. */
  retain(device: DeviceIdentity): void {
    const cached = this.#cache.get(device.tokenHash);
    if (cached === device) cached.holders++;
  }

  /** Call when the socket closes. */
  release(device: DeviceIdentity): void {
    const cached = this.#cache.get(device.tokenHash);
    if (cached !== device) return;
    cached.holders--;
    cached.idleSince = this.#clock.monotonic();
  }

  /** Calls the listener after the status of devices changed. The listener checks which ones did. */
  onStatusChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  async close(): Promise<void> {
    this.#closed.abort();
    for (const cleanup of this.#cleanup) cleanup();
    await this.#checking;
  }

  async #lookUp(tokenHash: string): Promise<DeviceIdentity | undefined> {
    for (;;) {
      const notices = this.#notices;
      const standing = await this.#byToken.get(tokenHash);
      // A change notice arrived during the query, so the result may be outdated.
      if (notices !== this.#notices) continue;
      if (standing === undefined || !sameHash(standing.tokenHash, tokenHash)) return undefined;
      return this.#cache.get(tokenHash) ?? this.#add(standing);
    }
  }

  async #checked(device: CachedDevice): Promise<DeviceIdentity> {
    while (device.status === 'active' && device.unchecked > 0) {
      const { unchecked } = device;
      this.#update(device, await this.#byRow.get(device.deviceRow), unchecked);
    }
    return device;
  }

  #add({
    deviceRow,
    deviceId,
    licenseId,
    onlyLocation,
    tokenHash,
    osVersion,
    appVersion,
    ...states
  }: Standing): CachedDevice {
    const device: CachedDevice = {
      tokenHash,
      deviceRow,
      deviceId,
      licenseId,
      onlyLocation,
      osVersion,
      appVersion,
      status: statusOf({ tokenHash, ...states }, tokenHash),
      holders: 0,
      idleSince: this.#clock.monotonic(),
      unchecked: 0,
    };
    if (device.status === 'active') this.#cache.set(tokenHash, device);
    return device;
  }

  /** `unchecked` is the number at the time of the query: an active status does not settle notices that arrived later. */
  #update(device: CachedDevice, standing: Standing | undefined, unchecked: number): void {
    if (device.status !== 'active') return;
    device.status = statusOf(standing, device.tokenHash);
    if (device.status === 'active' && device.unchecked !== unchecked) return;
    device.unchecked = 0;
    this.#unchecked.delete(device);
    if (device.status === 'active') return;
    this.#cache.delete(device.tokenHash);
    this.#notifyListeners();
  }

  #notifyListeners(): void {
    if (this.#isNotifying) return;
    this.#isNotifying = true;
    queueMicrotask(() => {
      this.#isNotifying = false;
      for (const listener of this.#listeners) listener();
    });
  }

  #onNotice(isAffected: (device: DeviceIdentity) => boolean): void {
    this.#notices++;
    for (const device of this.#cache.values()) {
      if (!isAffected(device)) continue;
      device.unchecked++;
      this.#unchecked.add(device);
    }
    this.#checking ??= this.#checkAll().finally(() => {
      this.#checking = undefined;
    });
  }

  async #checkAll(): Promise<void> {
    while (this.#unchecked.size > 0 && !this.#closed.signal.aborted) {
      const batch = this.#unchecked.values().take(MAX_BATCH).toArray();
      if (await this.#check(batch)) await nextTurn();
      else await this.#clock.sleep(RETRY_MS, this.#closed.signal);
    }
  }

  /** Checks the next share of the cached devices, and evicts those that have been disconnected for long. */
  async #checkNext(): Promise<void> {
    const batch: CachedDevice[] = [];
    const share = Math.ceil(this.#cache.size / ROUND_SEC);
    const evictBefore = this.#clock.monotonic() - IDLE_MS;
    for (let visited = 0; visited < share; visited++) {
      this.#round ??= this.#cache.values();
      const next = this.#round.next();
      if (next.done === true) {
        this.#round = undefined;
        break;
      }
      const { value } = next;
      if (value.holders === 0 && value.idleSince < evictBefore) this.#cache.delete(value.tokenHash);
      else batch.push(value);
    }
    if (batch.length > 0) await this.#check(batch);
  }

  /** Resolves with false when the database is unavailable. */
  async #check(batch: readonly CachedDevice[]): Promise<boolean> {
    const unchecked = batch.map((device) => device.unchecked);
    let standings: ReadonlyMap<string, Standing>;
    try {
      standings = await this.#devices.standingsByRow(batch.map(({ deviceRow }) => deviceRow));
    } catch (error) {
      this.#log.warn(
        { event: 'license.lookup_failed', err: error, devices: batch.length },
        'devices not looked up, will retry',
      );
      return false;
    }
    for (const [index, device] of batch.entries())
      this.#update(device, standings.get(device.deviceRow), unchecked[index] ?? 0);
    return true;
  }
}

function statusOf(
  standing: Pick<Standing, 'device' | 'license' | 'tokenHash'> | undefined,
  tokenHash: string,
): AuthStatus {
  if (standing === undefined || standing.device !== 'active' || standing.license === 'revoked')
    return 'inactive';
  if (!sameHash(standing.tokenHash, tokenHash)) return 'replaced';
  return standing.license === 'suspended' ? 'suspended' : 'active';
}
