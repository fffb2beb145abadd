import type { AssetIndex, AssetRecord } from '../../relay/assets/asset-index.ts';
import { asAssetId } from '../../relay/assets/assets.ts';
import type { Assets } from '../../relay/assets/assets.ts';
import type { Changes } from '../../platform/changes/changes.ts';
import type { MessageTrail, PersonJournal, PersonQuery } from '../../relay/journal/journal.ts';
import type { ReachFields, ReachFieldView } from '../reach/reach-fields.ts';
import type { Suppressions, SuppressionView } from '../opt-out/suppressions.ts';

/** The contacts of the CRM that this node has in memory. */
export interface ContactMemory {
  contactsOf(handles: readonly string[]): PersonRecords['contacts'];
}

export interface PersonDataDeps {
  readonly journal: PersonJournal;
  readonly contacts: ContactMemory;
  readonly suppressions: Pick<Suppressions, 'list'>;
  readonly reachFields: Pick<ReachFields, 'list' | 'erase'>;
  readonly index: Pick<AssetIndex, 'ofSender' | 'remove'>;
  readonly assets: Pick<Assets, 'remove'>;
  readonly changes: Pick<Changes, 'announce'>;
}

export interface PersonPage {
  readonly messages: readonly MessageTrail[];
  readonly cursor: string | null;
}

export interface PersonRecords {
  readonly contacts: readonly { readonly locationId: string; readonly contactId: string }[];
  readonly files: readonly AssetRecord[];
  readonly optOuts: readonly SuppressionView[];
  readonly reach: readonly ReachFieldView[];
}

export interface Erased {
  readonly messages: number;
  readonly files: number;
  readonly optOutsKept: number;
}

/** A person has at most one opt-out per location and key. */
const MAX_OPT_OUTS = 100_000;

/** The data that the service has about one person: found by the phone number or email address, exported and erased. */
export function createPersonData(deps: PersonDataDeps) {
  const { journal, contacts, suppressions, reachFields, index, assets, changes } = deps;
  const forEachHandle = async <T>({ handles }: PersonQuery, read: (handle: string) => Promise<T[]>) =>
    (await Promise.all(handles.map(read))).flat();
  const filesOf = (person: PersonQuery) =>
    forEachHandle(person, (handle) => index.ofSender(handle, person.locationIds));
  const optOutsOf = (person: PersonQuery) =>
    forEachHandle(person, (handle) =>
      suppressions.list({ handle, locationIds: person.locationIds, limit: MAX_OPT_OUTS }),
    );

  return {
    messages: (person: PersonQuery, limit: number, cursor?: string): Promise<PersonPage> =>
      journal.ofPerson({ ...person, limit, cursor }),

    async records(person: PersonQuery): Promise<PersonRecords> {
      const { handles, locationIds } = person;
      return {
        contacts: contacts
          .contactsOf(handles)
          .filter(({ locationId }) => locationIds === undefined || locationIds.includes(locationId)),
        files: await filesOf(person),
        optOuts: await optOutsOf(person),
        reach: await forEachHandle(person, (handle) => reachFields.list(handle, locationIds)),
      };
    },

    /**
     * Deletes the messages and files, and makes every node forget its contacts and captured texts in these locations. An opt-out stays:
     * without it the person would be texted again. Can be repeated after a failure.
     */
    async erase(person: PersonQuery): Promise<Erased> {
      const files = await filesOf(person);
      for (const { id } of files) {
        const stored = asAssetId(id);
        if (stored !== undefined) await assets.remove(stored);
        await index.remove(id);
      }
      for (const handle of person.handles) await reachFields.erase(handle, person.locationIds);
      const messages = await journal.erase(person);
      // The notice is stored, so it must not name the person.
      for (const subject of person.locationIds ?? ['*']) await changes.announce('person_erased', subject);
      return { messages, files: files.length, optOutsKept: (await optOutsOf(person)).length };
    },
  };
}

export type PersonData = ReturnType<typeof createPersonData>;
