import { join } from 'node:path';

import { ATTACHMENT_PROGRAM } from '@footbridge/media/attachment-converter';
import { Converter } from '@footbridge/media/converter';
import { hasHeicDecoder } from '@footbridge/media/heic-decoder';

import type { Host } from '../../platform/host.ts';
import type { ValuesOf } from '../../platform/settings/setting.ts';
import type { STORAGE } from '../../platform/sql/settings.ts';
import type { Slot } from '../../platform/extension-points.ts';
import type { Suspects } from '../../platform/suspects/suspects-sql.ts';
import type { Licenses } from '../accounts/licenses-sql.ts';
import type { Retention } from '../journal/retention.ts';
import type { KeyedHash } from '../people/handles.ts';
import { createAssetConverter } from './asset-converter-disk.ts';
import type { AssetIndex } from './asset-index-sql.ts';
import { createAssetIndex } from './asset-index-sql.ts';
import { assetRoutes } from './asset-routes.ts';
import { openDiskAssets } from './assets-disk.ts';
import type { Assets } from './assets.ts';
import { keepFiles } from './files-of-person.ts';
import type { ASSETS } from './settings.ts';
import { pruneAssets } from './prune-assets.ts';
import { createUploads } from './take-upload.ts';
import type { Upload, UploadOutcome } from './take-upload.ts';
import { assetsRoutes } from './totals-routes.ts';

type AssetSettings = ValuesOf<typeof ASSETS & typeof STORAGE>;

export interface AssetsDeps {
  readonly licenses: Pick<Licenses, 'maxSeats'>;
  readonly suspects: Suspects;
  readonly hashes: KeyedHash;
  readonly retention: Slot<Retention>;
}

export interface AssetsRoom {
  readonly assets: Assets;
  readonly index: AssetIndex;
  readonly take: (upload: Upload) => Promise<UploadOutcome>;
}

/** Stored files: uploads of Macs, their conversion, quotas, and the addresses under which they are served. */
export async function openAssets(
  host: Host,
  { licenses, suspects, hashes, retention }: AssetsDeps,
  settings: AssetSettings,
): Promise<AssetsRoom> {
  const { database, clock, log } = host;
  const { dataDir, quotaBytesPerSeat } = settings;
  const assets = await openStore(settings);
  const index = createAssetIndex({ database, clock, hashes: (handle) => hashes.handle(handle) });
  const converter = await Converter.open(join(dataDir, 'converter'), log, { program: ATTACHMENT_PROGRAM });
  host.stops('converter', () => converter.close());
  host.expires('asset.prune_failed', async () => {
    await pruneAssets(assets, index);
    await index.recount();
  });
  keepFiles(host, { assets, index });
  host.publicRoutes(assetRoutes({ assets, index, clock }));
  host.operatorRoutes(assetsRoutes(index));
  const take = createUploads({
    assets,
    index,
    converter: createAssetConverter({
      assets,
      converter,
      convertHeic: settings.convertHeic && hasHeicDecoder(log),
    }),
    suspects,
    clock,
    log,
    baseUrl: host.publicUrl,
    quotaBytes: settings.quotaBytes,
    licenseQuotaBytes: async (licenseId) => (await licenses.maxSeats(licenseId)) * quotaBytesPerSeat,
    retentionDays: async (locationId) =>
      (await retention.value.of(locationId)).assetDays ?? settings.assetDays,
  });
  return { assets, index, take };
}

async function openStore(settings: AssetSettings): Promise<Assets> {
  const { s3Endpoint, s3AccessKeyId, s3SecretAccessKey, s3Region, dataDir } = settings;
  if (settings.assetStore === 'disk' || !s3Endpoint || !s3AccessKeyId || !s3SecretAccessKey)
    return openDiskAssets({ directory: join(dataDir, 'assets') });
  const { openS3Assets } = await import('./assets-s3.ts');
  return openS3Assets({
    endpoint: s3Endpoint,
    region: s3Region,
    accessKeyId: s3AccessKeyId,
    secretAccessKey: s3SecretAccessKey,
    spoolFolder: join(dataDir, 'assets/incoming'),
  });
}
