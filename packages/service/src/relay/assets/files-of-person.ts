import type { Host, Person } from '../../platform/host.ts';
import { isoTime } from '../../platform/operator/operator-request.ts';
import type { AssetIndex } from './asset-index-sql.ts';
import { asAssetId } from './assets.ts';
import type { Assets } from './assets.ts';

export interface FilesDeps {
  readonly index: Pick<AssetIndex, 'ofSender' | 'remove'>;
  readonly assets: Pick<Assets, 'remove'>;
}

/** Exports and erases the files that a person has sent. */
export function keepFiles(
  host: Pick<Host, 'keepsAboutPeople' | 'publicUrl'>,
  { index, assets }: FilesDeps,
): void {
  const filesOf = async ({ handles, locationIds }: Person) =>
    (await Promise.all(handles.map((handle) => index.ofSender(handle, locationIds)))).flat();

  host.keepsAboutPeople({
    section: 'files',
    read: async (person) =>
      (await filesOf(person)).map(({ id, name, createdAt, expiresAt, ...rest }) => ({
        id,
        locationId: rest.locationId,
        name,
        contentType: rest.contentType,
        size: rest.size,
        sha256: rest.sha256,
        url: `${host.publicUrl()}/assets/${id}/${encodeURIComponent(name)}`,
        createdAt: isoTime(createdAt),
        expiresAt: isoTime(expiresAt),
      })),
    async erase(person) {
      for (const { id } of await filesOf(person)) {
        const stored = asAssetId(id);
        if (stored !== undefined) await assets.remove(stored);
        await index.remove(id);
      }
    },
  });
}
