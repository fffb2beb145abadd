import { safeFileName } from '@footbridge/media/file-name';
import { HeadRecorder } from '@footbridge/media/head-recorder';
import { mediaType } from '@footbridge/media/media-types';
import type { MediaTypeName } from '@footbridge/media/media-types';
import { sniff } from '@footbridge/media/sniff';
import type { Clock } from '@footbridge/runtime/clock';
import type { Log } from '@footbridge/runtime/log';

import type { AssetId, Assets } from './assets.ts';
import { SET_ASIDE } from '../../platform/suspects/suspects.ts';
import type { Suspects } from '../../platform/suspects/suspects-sql.ts';
import type { AssetIndex, AssetRecord } from './asset-index-sql.ts';
import { Quotas } from './quotas.ts';
import type { QuotaReason, StoreWithin } from './quotas.ts';

/** A converted file, or the reason why there is none. The receiver calls `discard` when it has read the file. */
export type ConvertedAsset =
  | {
      ok: true;
      type: MediaTypeName;
      note?: string;
      read(): AsyncIterable<Uint8Array>;
      discard(): Promise<void>;
    }
  | { ok: false; reason: string };

/** Converts a stored file to a type that browsers show. Locations share the converter fairly. Never throws. */
export interface AssetConverter {
  convert(original: AssetId, type: MediaTypeName, locationId: string): Promise<ConvertedAsset>;
}

export interface UploadDeps {
  readonly assets: Assets;
  readonly index: AssetIndex;
  readonly converter: AssetConverter;
  readonly suspects: Pick<Suspects, 'handle' | 'workOn'>;
  readonly clock: Pick<Clock, 'now'>;
  readonly log: Log;
  /** The public address of the service. */
  readonly baseUrl: () => string;
  readonly quotaBytes: number;
  /** Resolves with the quota of a license in bytes. */
  readonly licenseQuotaBytes: (licenseId: string) => Promise<number>;
  /** Resolves with how many days the files of a location are kept. */
  readonly retentionDays: (locationId: string) => Promise<number>;
}

export interface Upload {
  readonly locationId: string;
  /** The license of the Mac that sends the file. The file counts towards its quota, even if the location has another owner later. */
  readonly licenseId: string;
  readonly name: string;
  readonly bytes: AsyncIterable<Uint8Array>;
}

export type UploadOutcome =
  | { readonly kind: 'stored'; readonly url: string }
  | { readonly kind: 'rejected'; readonly reason: 'too_large' | 'storage_full' | QuotaReason };

export const MAX_UPLOAD_BYTES = 100_000_000;
/** The overhead of a file on disk and in the database, so that many small files do not fill them either (T53). */
const BYTES_PER_FILE = 4096;
const DAY_MS = 86_400_000;
/** A browser downloads it and does not interpret it. */
const UNKNOWN = 'application/octet-stream';
const ENDED_TWICE = 'not examined: the service ended twice while it examined this file';
const NOT_STORED = {
  too_large: 'the result is too large',
  storage_full: 'the storage is full',
  quota: 'the quota of the location is reached',
  license_quota: 'the quota of the license is reached',
} as const;

interface Stored {
  readonly id: AssetId;
  readonly size: number;
  readonly sha256: string;
}

/**
 * Stores a file that a Mac received, converts it to a web format where needed, and returns its URL (I8). A file that ended the service
 * twice is stored without being examined (I10).
 */
export function createUploads(deps: UploadDeps): (upload: Upload) => Promise<UploadOutcome> {
  const { assets, index, converter, suspects, clock, log, baseUrl } = deps;
  const { quotaBytes, licenseQuotaBytes, retentionDays } = deps;

  async function record(
    id: AssetId,
    { locationId, licenseId, name }: Upload,
    contentType: MediaTypeName,
    stored: Omit<Stored, 'id'>,
    more: Pick<AssetRecord, 'originalId' | 'note'>,
  ): Promise<string> {
    const now = clock.now();
    const safe = safeFileName(name, contentType);
    await index.add({
      id,
      locationId,
      licenseId,
      name: safe,
      contentType,
      size: stored.size,
      sha256: stored.sha256,
      ...more,
      createdAt: now,
      expiresAt: now + (await retentionDays(locationId)) * DAY_MS,
    });
    return `${baseUrl()}/assets/${id}/${encodeURIComponent(safe)}`;
  }

  const write = (counted: AsyncIterable<Uint8Array>) => assets.store(counted, MAX_UPLOAD_BYTES);

  async function keep(upload: Upload, store: StoreWithin): Promise<UploadOutcome> {
    const { locationId, bytes } = upload;
    const recorder = new HeadRecorder();
    const original = await store(recorder.record(bytes), write);
    if (!original.stored) return { kind: 'rejected', reason: original.reason };
    const file = { kind: 'file', locationId, id: original.sha256 } as const;
    // A file is never acquitted: its response is still to be written.
    const kept = await suspects.handle(
      file,
      async () => {
        const outcome = await keepAs(sniff(recorder.head), upload, original, store);
        suspects.workOn(file);
        return outcome;
      },
      () => false,
    );
    return kept === SET_ASIDE
      ? await keepAs(UNKNOWN, { ...upload, name: '' }, original, store, ENDED_TWICE)
      : kept;
  }

  async function keepAs(
    type: MediaTypeName,
    upload: Upload,
    original: Stored,
    store: StoreWithin,
    setAsideNote: string | null = null,
  ): Promise<UploadOutcome> {
    const { locationId } = upload;
    const { convert, note = setAsideNote } = mediaType(type);
    if (convert === undefined)
      return {
        kind: 'stored',
        url: await record(original.id, upload, type, original, { originalId: null, note }),
      };

    // The original has its own record: it is kept as long and counts towards the quota.
    const recordOriginal = (remark: string) =>
      record(original.id, upload, type, original, { originalId: null, note: remark });
    const conversion = await converter.convert(original.id, type, locationId);
    if (!conversion.ok) {
      log.info(
        { event: 'asset.not_converted', locationId, type, reason: conversion.reason },
        'attachment delivered unconverted',
      );
      return { kind: 'stored', url: await recordOriginal(`not converted: ${conversion.reason}`) };
    }
    try {
      const converted = await store(conversion.read(), write);
      if (!converted.stored)
        return {
          kind: 'stored',
          url: await recordOriginal(`not converted: ${NOT_STORED[converted.reason]}`),
        };
      await recordOriginal('the original of a converted file');
      return {
        kind: 'stored',
        url: await record(converted.id, upload, conversion.type, converted, {
          originalId: original.id,
          note: conversion.note ?? null,
        }),
      };
    } finally {
      await conversion.discard();
    }
  }

  const quotas = new Quotas(async ({ reason, id }) => {
    const { count, bytes } = await index.totals(reason === 'quota' ? { locationId: id } : { licenseId: id });
    return bytes + count * BYTES_PER_FILE;
  });
  return async (upload) => {
    const { locationId, licenseId } = upload;
    const bounds = [
      { reason: 'quota', id: locationId, limit: quotaBytes },
      { reason: 'license_quota', id: licenseId, limit: await licenseQuotaBytes(licenseId) },
    ] as const;
    return await quotas.within(bounds, (store) => keep(upload, store));
  };
}
