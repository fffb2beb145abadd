import { asLocationId } from '@footbridge/protocol/ids';
import type { LocationId } from '@footbridge/protocol/ids';

import type { Changes } from '../../platform/changes/changes.ts';
import type { ClaimOutcome, LocationClaimMode, LocationOwner, Locations } from './locations-sql.ts';
import { Batcher } from '../../platform/batcher.ts';

export interface Claimant {
  readonly licenseId: string;
  readonly deviceRow: string;
  /** The only location that its token is good for. Null: any location of the license. */
  readonly onlyLocation: string | null;
}

/** `other_location`: the Mac was paired with a code for another location. */
export type Admittance = ClaimOutcome | 'other_location';

export interface LocationClaimsDeps {
  readonly locations: Pick<Locations, 'claim' | 'owners'>;
  readonly changes: Pick<Changes, 'listen' | 'announce'>;
  readonly mode: LocationClaimMode;
}

const MAX_CACHED = 50_000;

/** Decides which license owns a location (M8). Known owners are cached; only the store assigns a free location. */
export class LocationClaims {
  readonly #locations: LocationClaimsDeps['locations'];
  readonly #changes: LocationClaimsDeps['changes'];
  readonly #mode: LocationClaimMode;
  readonly #owners = new Map<LocationId, LocationOwner>();
  readonly #lookups: Batcher<LocationId, LocationOwner>;
  readonly #unlisten: () => void;
  #notices = 0;

  constructor({ locations, changes, mode }: LocationClaimsDeps) {
    this.#locations = locations;
    this.#changes = changes;
    this.#mode = mode;
    this.#lookups = new Batcher((ids) => locations.owners(ids));
    this.#unlisten = changes.listen('location', (id) => this.#evict(id));
  }

  /** Claims the location for a license if it is free and `LOCATION_CLAIM` allows it. */
  async claim(locationId: LocationId, claimant: Claimant): Promise<Admittance> {
    const { licenseId, deviceRow, onlyLocation } = claimant;
    if (onlyLocation !== null && onlyLocation !== locationId) return 'other_location';
    const owner = await this.#ownerOf(locationId);
    if (owner !== undefined && owner.licenseId !== licenseId) return 'foreign';
    if (owner?.deviceRow === deviceRow) return 'owned';
    const notices = this.#notices;
    const claim = await this.#locations.claim({ locationId, licenseId, deviceRow }, this.#mode);
    if (claim === 'owned') this.#add(locationId, { licenseId, deviceRow }, notices);
    // Another device binds the location: all nodes must know before a message is sent to it (M4).
    if (claim === 'owned' && owner !== undefined) await this.#changes.announce('location', locationId);
    return claim;
  }

  /** Whether a Mac with this token may serve the location. */
  async mayServe(
    locationId: LocationId,
    { licenseId, onlyLocation }: Omit<Claimant, 'deviceRow'>,
  ): Promise<boolean> {
    if (onlyLocation !== null && onlyLocation !== locationId) return false;
    return (await this.#ownerOf(locationId))?.licenseId === licenseId;
  }

  close(): void {
    this.#unlisten();
  }

  async #ownerOf(locationId: LocationId): Promise<LocationOwner | undefined> {
    for (;;) {
      const known = this.#owners.get(locationId);
      if (known !== undefined) return known;
      const notices = this.#notices;
      const owner = await this.#lookups.get(locationId);
      // A change notice arrived during the query, so the result may be outdated.
      if (notices !== this.#notices) continue;
      if (owner !== undefined) this.#add(locationId, owner, notices);
      return owner;
    }
  }

  /** `notices` is the number before the query: an owner read before a later change is not cached. */
  #add(locationId: LocationId, owner: LocationOwner, notices: number): void {
    if (notices !== this.#notices) return;
    if (this.#owners.size >= MAX_CACHED) this.#owners.clear();
    this.#owners.set(locationId, owner);
  }

  #evict(subject: string): void {
    this.#notices++;
    const locationId = asLocationId(subject);
    if (subject === '*') this.#owners.clear();
    else if (locationId !== undefined) this.#owners.delete(locationId);
  }
}
