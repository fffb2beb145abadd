import type { Logger } from '../../log.ts';
import { asAssetId } from '../../ports/assets/assets.ts';
import type { Assets } from '../../ports/assets/assets.ts';
import type { AssetIndex, AssetRecord } from '../../ports/asset-index/asset-index.ts';

/** The CRM's own storage, where previews show. Undefined when it did not take the file. */
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
  /** Undefined unless CRM_UPLOAD_ATTACHMENTS is on. */
  readonly storage: CrmStorage | undefined;
  readonly log: Logger;
}

export interface Message {
  readonly locationId: string;
  readonly contactId: string;
  readonly urls: readonly string[];
}

const CRM_LIMIT_BYTES = 5_000_000;
const OURS = /\/assets\/([\w-]{32})\/[^/?#]*$/;

/** What goes out with a message: our addresses, or the CRM's where it took the file over; and the notes on files of ours (I8). */
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

  async function one(url: string, message: Message): Promise<{ url: string; note: string | undefined }> {
    const [, id] = OURS.exec(url) ?? [];
    try {
      const record = id === undefined ? undefined : await index.find(id);
      if (record === undefined || record.locationId !== message.locationId) return { url, note: undefined };
      const note = record.note === null ? undefined : `${record.name}: ${record.note}`;
      return { url: (await handOver(record, message)) ?? url, note };
    } catch (error) {
      // A message is never lost over a picture: our own address is as good as any.
      log.warn(
        { locationId: message.locationId, err: error },
        'an attachment could not be prepared; its address goes out as it is',
      );
      return { url, note: undefined };
    }
  }

  return {
    async prepare(message: Message): Promise<{ urls: string[]; notes: string[] }> {
      const prepared = await Promise.all(message.urls.map((url) => one(url, message)));
      return {
        urls: prepared.map(({ url }) => url),
        notes: prepared.flatMap(({ note }) => (note === undefined ? [] : [note])),
      };
    },
  };
}
