import type { Logger } from '../../log.ts';
import { asAssetId } from '../../ports/assets/assets.ts';
import type { Assets } from '../../ports/assets/assets.ts';
import type { AssetIndex, AssetRecord } from '../../ports/asset-index/asset-index.ts';

/** The CRM's own storage, whose files it shows as previews. `put` returns undefined when it refuses the file. */
export interface CrmStorage {
  put(file: {
    locationId: string;
    contactId: string;
    name: string;
    contentType: string;
    bytes: Buffer;
  }): Promise<string | undefined>;
}

export interface PrepareDeps {
  readonly index: Pick<AssetIndex, 'find'>;
  readonly assets: Pick<Assets, 'open'>;
  /** Undefined unless CRM_UPLOAD_ATTACHMENTS is true. */
  readonly storage: CrmStorage | undefined;
  readonly log: Logger;
}

export interface Message {
  readonly locationId: string;
  readonly contactId: string;
  readonly urls: readonly string[];
}

const CRM_LIMIT_BYTES = 5_000_000;
const OUR_URL = /\/assets\/([\w-]{32})\/[^/?#]*$/;

/** Returns the URLs to send with a message (ours, or the CRM's for files that it stores) and the notes on our files (I8). */
export function createPrepareAttachments({ index, assets, storage, log }: PrepareDeps) {
  async function handOver(
    record: AssetRecord,
    { locationId, contactId }: Message,
  ): Promise<string | undefined> {
    const id = asAssetId(record.id);
    if (storage === undefined || id === undefined || record.size > CRM_LIMIT_BYTES) return undefined;
    const stream = await assets.open(id);
    if (stream === undefined) return undefined;
    const { name, contentType } = record;
    return storage.put({
      locationId,
      contactId,
      name,
      contentType,
      bytes: Buffer.concat(await stream.toArray()),
    });
  }

  async function prepareOne(
    url: string,
    message: Message,
  ): Promise<{ url: string; note: string | undefined }> {
    const [, id] = OUR_URL.exec(url) ?? [];
    try {
      const record = id === undefined ? undefined : await index.find(id);
      if (record === undefined || record.locationId !== message.locationId) return { url, note: undefined };
      const note = record.note === null ? undefined : `${record.name}: ${record.note}`;
      return { url: (await handOver(record, message)) ?? url, note };
    } catch (error) {
      // A file must not block its message: our own URL works too.
      log.warn(
        { event: 'asset.handover_failed', locationId: message.locationId, err: error },
        'attachment not handed over to the CRM, its own URL is sent',
      );
      return { url, note: undefined };
    }
  }

  return {
    async prepare(message: Message): Promise<{ urls: string[]; notes: string[] }> {
      const prepared = await Promise.all(message.urls.map((url) => prepareOne(url, message)));
      return {
        urls: prepared.map(({ url }) => url),
        notes: prepared.flatMap(({ note }) => (note === undefined ? [] : [note])),
      };
    },
  };
}
