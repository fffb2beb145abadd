import type { Clock } from '@footbridge/runtime/clock';

import { succeeded } from '../../platform/retry/retry.ts';
import type { Phones } from '../people/handles.ts';
import type { Attempt, FailedAttempt, RetryPolicy } from '../../platform/retry/retry.ts';
import { RecentCache } from '../../platform/recent-cache.ts';
import type { ContactCalls } from '../crm/contact-calls.ts';
import type { InboundJob } from './inbound-job.ts';
import { inboundRetryPolicy, writePolicy } from './inbound-job.ts';
import { LostAttempts, readAfterLoss } from './read-after-loss.ts';
import type { ReadDelays } from './read-after-loss.ts';

interface Found {
  readonly contactId: string;
  /** The preferred contact at the time of the search. */
  readonly preferred: string | undefined;
  readonly until: number;
}

const SEPARATORS = /[\s.()\p{Pd}]/gu;
const NUMBER = /^\+?\d+$/;
const FOUND_MS = 3_600_000;
const ENTRIES_PER_GENERATION = 20_000;

export interface Contact {
  readonly contactId: string;
  /** From memory: the CRM may have deleted it since. */
  readonly isCached: boolean;
}

export interface KnownContact {
  readonly locationId: string;
  readonly contactId: string;
}

type Retrying = Pick<InboundJob, 'isWanted' | 'pause' | 'retry'>;

/**
 * Maps senders to contacts (I2): the contact that the CRM's search finds, else a new one. Of several contacts with the same handle, the
 * one that the CRM last wrote to is used. A cache with bounded size and lifetime. Concurrent lookups of one handle share a call, so
 * that no contact is created twice.
 */
export class ContactBook {
  readonly #calls: ContactCalls;
  readonly #clock: Clock;
  readonly #mayCreate: boolean;
  readonly #delays: ReadDelays;
  readonly #lookUps = new Map<string, Promise<Attempt<string | undefined>>>();
  readonly #found = new RecentCache<string, Found>(ENTRIES_PER_GENERATION);
  readonly #preferred = new RecentCache<string, string>(ENTRIES_PER_GENERATION);

  constructor(calls: ContactCalls, clock: Clock, mayCreate: boolean, delays: ReadDelays) {
    this.#calls = calls;
    this.#clock = clock;
    this.#mayCreate = mayCreate;
    this.#delays = delays;
  }

  /** The CRM wrote to this contact at this number. Counts only when the search finds it too. */
  prefer(locationId: string, handle: string, contactId: string): void {
    this.#preferred.set(keyOf(locationId, handle), contactId);
  }

  forget(locationId: string, handle: string): void {
    this.#found.delete(keyOf(locationId, handle));
  }

  contactsOf(handles: readonly string[], phones: Pick<Phones, 'recorded'>): KnownContact[] {
    const wanted = new Set(handles.map(normalised));
    const known = [
      ...[...this.#found.entries()].map(([key, { contactId }]) => ({ key, contactId })),
      ...[...this.#preferred.entries()].map(([key, contactId]) => ({ key, contactId })),
    ].flatMap(({ key, contactId }) => {
      const end = key.indexOf('\n');
      const [locationId, handle] = [key.slice(0, end), key.slice(end + 1)];
      return wanted.has(handle) || wanted.has(phones.recorded(handle)) ? [{ locationId, contactId }] : [];
    });
    return [...new Map(known.map((contact) => [contact.contactId, contact])).values()];
  }

  /** Without a location: all of them. */
  clear(locationId?: string): void {
    const isOf = (key: string) => locationId === undefined || key.startsWith(`${locationId}\n`);
    this.#found.deleteWhere(isOf);
    this.#preferred.deleteWhere(isOf);
  }

  /** Resolves with undefined when no contact has this handle and none may be created. */
  async resolve(
    locationId: string,
    handle: string,
    job: Retrying,
    mayCreate = this.#mayCreate,
  ): Promise<Attempt<Contact | undefined>> {
    const key = keyOf(locationId, handle);
    const known = this.#cached(key);
    if (known !== undefined) return succeeded({ contactId: known, isCached: true });
    for (;;) {
      const lookUpKey = `${key} ${mayCreate}`;
      const shared = this.#lookUps.get(lookUpKey);
      const found = await (shared ?? this.#lookUp(key, lookUpKey, mayCreate, locationId, handle, job));
      if (found.ok)
        return succeeded(found.value === undefined ? undefined : { contactId: found.value, isCached: false });
      // The job that made the call was cancelled, this one was not.
      if (shared === undefined || found.kind !== 'cancelled' || !job.isWanted()) return found;
    }
  }

  /** A result is searched again once the CRM writes to another contact under the same handle. */
  #cached(key: string): string | undefined {
    const known = this.#found.get(key);
    if (known === undefined || this.#clock.now() >= known.until) return undefined;
    const preferred = this.#preferred.get(key);
    return known.contactId === preferred || known.preferred === preferred ? known.contactId : undefined;
  }

  #lookUp(
    key: string,
    lookUpKey: string,
    mayCreate: boolean,
    locationId: string,
    handle: string,
    job: Retrying,
  ): Promise<Attempt<string | undefined>> {
    const preferred = this.#preferred.get(key);
    const lookUp = this.#findOrCreate(locationId, handle, preferred, mayCreate, job)
      .then((found) => {
        if (found.ok && found.value !== undefined)
          this.#found.set(key, { contactId: found.value, preferred, until: this.#clock.now() + FOUND_MS });
        return found;
      })
      .finally(() => this.#lookUps.delete(lookUpKey));
    this.#lookUps.set(lookUpKey, lookUp);
    return lookUp;
  }

  async #findOrCreate(
    locationId: string,
    handle: string,
    preferred: string | undefined,
    mayCreate: boolean,
    job: Retrying,
  ): Promise<Attempt<string | undefined>> {
    const find = () => job.retry((guard) => this.#calls.find(locationId, handle, guard));
    const found = await find();
    if (found.ok && found.value !== undefined)
      return this.#choose(locationId, handle, found.value, preferred, job);
    if (!isMissing(found)) return found;
    if (!mayCreate) return succeeded(undefined);
    const upserted = await this.#create('upsert', locationId, handle, job, find);
    if (upserted.ok || !isRefused(upserted) || ![404, 405].includes(upserted.status)) return upserted;
    return this.#create('create', locationId, handle, job, find);
  }

  /** A creation whose response was lost is repeated only when the search then does not find the contact (I9). */
  async #create(
    call: 'upsert' | 'create',
    locationId: string,
    handle: string,
    job: Retrying,
    find: () => Promise<Attempt<string | undefined>>,
  ): Promise<Attempt<string | undefined>> {
    const lostAttempts = new LostAttempts(this.#clock);
    for (;;) {
      const created = await job.retry((guard) => this.#calls[call](locationId, handle, guard), writePolicy);
      if (created.ok || created.inDoubt !== true) return created;
      const waitMs = lostAttempts.waitAfter(created);
      // It is unknown whether the contact was created. The message was certainly not posted.
      if (waitMs === undefined) return { ...created, inDoubt: false };
      const isNothing = (contactId: string | undefined) => contactId === undefined;
      const found = await readAfterLoss(job, this.#delays, waitMs, find, isNothing);
      if (!isMissing(found)) return found;
    }
  }

  /** The first search names one contact. When another one is preferred, the list of all decides whether it has this handle. */
  async #choose(
    locationId: string,
    handle: string,
    found: string,
    preferred: string | undefined,
    job: Retrying,
  ): Promise<Attempt<string>> {
    if (preferred === undefined || preferred === found) return succeeded(found);
    const all = await job.retry((guard) => this.#calls.findAll(locationId, handle, guard), listPolicy);
    if (!all.ok) return all.kind === 'cancelled' ? all : succeeded(found);
    return succeeded(all.value.includes(preferred) ? preferred : found);
  }
}

/** Without a usable list, the contact that the first search named is used. */
const listPolicy: RetryPolicy = (failure, progress) =>
  failure.kind === 'empty' ? undefined : inboundRetryPolicy(failure, progress);

/** A search that rejects the form of the handle does not say whether such a contact may be created. */
const isMissing = (found: Attempt<string | undefined>) =>
  found.ok ? found.value === undefined : isRefused(found) && !isForbidden(found);
const isRefused = ({ kind }: FailedAttempt) => kind === 'refused';
const isForbidden = ({ status }: FailedAttempt) => status === 401 || status === 403;

/** No location of a Mac contains a line break. */
const keyOf = (locationId: string, handle: string) => `${locationId}\n${normalised(handle)}`;

/** Email addresses are compared in lower case, and numbers without separators. Any other sender, such as a name, is compared unchanged. */
function normalised(handle: string): string {
  if (handle.includes('@')) return handle.toLowerCase();
  const number = handle.replaceAll(SEPARATORS, '');
  return NUMBER.test(number) ? number : handle;
}
