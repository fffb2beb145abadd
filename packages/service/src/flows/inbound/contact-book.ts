import type { Clock } from '../../clock.ts';
import type { ContactCalls, Found, Patience } from './crm-calls.ts';

interface Entry {
  readonly contactId: string;
  readonly until: number;
}

const LEARNED_MS = 24 * 3_600_000;
const FOUND_MS = 3_600_000;
const PER_GENERATION = 20_000;

export type Resolved = { readonly kind: 'known'; readonly contactId: string } | Found;

/**
 * Whose message it is (I2): the contact the CRM itself last wrote to under this handle, else the one its search finds, else a new one.
 * Remembered for a time and in bounded memory; simultaneous questions for one handle share an answer, so nobody is created twice.
 */
export class ContactBook {
  readonly #calls: ContactCalls;
  readonly #clock: Clock;
  readonly #mayCreate: boolean;
  readonly #flights = new Map<string, Promise<Found>>();
  #young = new Map<string, Entry>();
  #old = new Map<string, Entry>();

  constructor(calls: ContactCalls, clock: Clock, mayCreate: boolean) {
    this.#calls = calls;
    this.#clock = clock;
    this.#mayCreate = mayCreate;
  }

  /** The CRM wrote to this contact at this number. */
  learn(locationId: string, handle: string, contactId: string): void {
    this.#remember(keyOf(locationId, handle), contactId, LEARNED_MS);
  }

  forget(locationId: string, handle: string): void {
    const key = keyOf(locationId, handle);
    this.#young.delete(key);
    this.#old.delete(key);
  }

  async resolve(locationId: string, handle: string, patience: Patience): Promise<Resolved> {
    const key = keyOf(locationId, handle);
    const known = this.#young.get(key) ?? this.#old.get(key);
    if (known !== undefined && this.#clock.now() < known.until)
      return { kind: 'known', contactId: known.contactId };
    for (;;) {
      const under = this.#flights.get(key);
      if (under === undefined) return this.#look(key, locationId, handle, patience);
      const found = await under;
      // Who asked first does not care any more, but we do.
      if (found.kind !== 'unwanted' || !patience.wanted(false)) return found;
    }
  }

  #look(key: string, locationId: string, handle: string, patience: Patience): Promise<Found> {
    const flight = this.#findOrCreate(locationId, handle, patience)
      .then((found) => {
        if (found.kind === 'found') this.#remember(key, found.contactId, FOUND_MS);
        return found;
      })
      .finally(() => this.#flights.delete(key));
    this.#flights.set(key, flight);
    return flight;
  }

  async #findOrCreate(locationId: string, handle: string, patience: Patience): Promise<Found> {
    const found = await this.#calls.find(locationId, handle, patience);
    // A search that does not like the handle's form says nothing about whether such a contact may be made.
    const nobody =
      found.kind === 'none' || (found.kind === 'refused' && found.status !== 401 && found.status !== 403);
    if (!nobody) return found;
    if (!this.#mayCreate) return { kind: 'none' };
    return this.#calls.create(locationId, handle, patience);
  }

  #remember(key: string, contactId: string, ms: number): void {
    this.#young.set(key, { contactId, until: this.#clock.now() + ms });
    if (this.#young.size < PER_GENERATION) return;
    this.#old = this.#young;
    this.#young = new Map();
  }
}

/** Addresses are the same in any case; numbers come in E.164 from both sides. */
const keyOf = (locationId: string, handle: string) =>
  `${locationId} ${handle.includes('@') ? handle.toLowerCase() : handle}`;
