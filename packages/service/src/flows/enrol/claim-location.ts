import { asLocationId } from '@footbridge/protocol/ids';
import type { LocationId } from '@footbridge/protocol/ids';

import type { Changes } from '../../ports/changes/changes.ts';
import type { Claim, Licenses, Owner } from '../../ports/licenses/licenses.ts';
import { Batcher } from './batcher.ts';

export interface Claimant {
  readonly licenseId: string;
  readonly deviceRow: string;
}

export interface LocationClaimsDeps {
  readonly licenses: Pick<Licenses, 'claim' | 'owners'>;
  readonly changes: Pick<Changes, 'listen'>;
  readonly mode: 'first' | 'operator';
}

const REMEMBERED = 50_000;

/** Which license owns a location (M8): answered from memory where it can be, decided by the store where it must be. */
export class LocationClaims {
  readonly #licenses: LocationClaimsDeps['licenses'];
  readonly #mode: 'first' | 'operator';
  readonly #owners = new Map<LocationId, Owner>();
  readonly #unknown: Batcher<LocationId, Owner>;
  readonly #unlisten: () => void;
  #news = 0;

  constructor({ licenses, changes, mode }: LocationClaimsDeps) {
    this.#licenses = licenses;
    this.#mode = mode;
    this.#unknown = new Batcher((ids) => licenses.owners(ids));
    this.#unlisten = changes.listen('location', (id) => this.#forget(id));
  }

  /** Takes the location for a license if it is free and `LOCATION_CLAIM` lets it. */
  async claim(locationId: LocationId, { licenseId, deviceRow }: Claimant): Promise<Claim> {
    const owner = await this.#ownerOf(locationId);
    if (owner !== undefined && owner.licenseId !== licenseId) return 'foreign';
    if (owner?.deviceRow === deviceRow) return 'owned';
    const news = this.#news;
    const claim = await this.#licenses.claim({ locationId, licenseId, deviceRow }, this.#mode);
    if (claim === 'owned') this.#remember(locationId, { licenseId, deviceRow }, news);
    return claim;
  }

  async owns(locationId: LocationId, licenseId: string): Promise<boolean> {
    return (await this.#ownerOf(locationId))?.licenseId === licenseId;
  }

  close(): void {
    this.#unlisten();
  }

  async #ownerOf(locationId: LocationId): Promise<Owner | undefined> {
    for (;;) {
      const known = this.#owners.get(locationId);
      if (known !== undefined) return known;
      const news = this.#news;
      const owner = await this.#unknown.ask(locationId);
      if (news !== this.#news) continue;
      if (owner !== undefined) this.#remember(locationId, owner, news);
      return owner;
    }
  }

  #remember(locationId: LocationId, owner: Owner, news: number): void {
    if (news !== this.#news) return;
    if (this.#owners.size >= REMEMBERED) this.#owners.clear();
    this.#owners.set(locationId, owner);
  }

  #forget(subject: string): void {
    this.#news++;
    const locationId = asLocationId(subject);
    if (subject === '*') this.#owners.clear();
    else if (locationId !== undefined) this.#owners.delete(locationId);
  }
}
