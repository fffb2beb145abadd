import { join } from 'node:path';

import { ATTACHMENT_PROGRAM } from '@footbridge/media/attachment-converter';
import { Converter } from '@footbridge/media/converter';
import { hasHeicDecoder } from '@footbridge/media/heic-decoder';
import type { FastifyInstance } from 'fastify';

import type { BridgeContext } from './context.ts';
import { pruneHourly } from './prune-hourly.ts';
import type { Config } from '../platform/settings/config.ts';
import { assetRoutes } from '../relay/assets/asset-routes.ts';
import { createAssetConverter } from '../relay/assets/asset-converter-disk.ts';
import { assetsRoutes } from '../relay/assets/totals-routes.ts';
import { pruneAssets } from '../relay/assets/prune-assets.ts';
import { createUploads } from '../relay/assets/take-upload.ts';
import type { Upload, UploadOutcome } from '../relay/assets/take-upload.ts';
import type { AssetIndex } from '../relay/assets/asset-index.ts';
import { createSqlAssetIndex } from '../relay/assets/asset-index-sql.ts';
import type { Assets } from '../relay/assets/assets.ts';
import { openDiskAssets } from '../relay/assets/assets-disk.ts';
import type { KeyedHash } from '../relay/people/keyed-hash.ts';
import type { Slot } from '../platform/slot.ts';
import type { Retention } from '../relay/journal/retention.ts';
import type { Suspects } from '../platform/suspects/suspects.ts';
import type { OpenDatabase } from '../platform/sql/open-database.ts';

export interface AssetSide {
  readonly assets: Assets;
  readonly index: AssetIndex;
  readonly take: (upload: Upload) => Promise<UploadOutcome>;
  readonly publicRoutes: readonly ((app: FastifyInstance) => void)[];
  readonly operatorRoutes: readonly ((app: FastifyInstance) => void)[];
}

export interface AssetDeps {
  readonly database: OpenDatabase;
  readonly suspects: Suspects;
  readonly handleHash: KeyedHash;
  readonly retention: Slot<Retention>;
}

/** Attachments: storage, index, conversion and the routes that serve them. */
export async function composeAssets(
  { config, log, clock, life, mayDelete }: BridgeContext,
  { database, suspects, handleHash, retention }: AssetDeps,
  baseUrl: () => string,
): Promise<AssetSide> {
  const choice = config.assets;
  const assets = await openAssets(choice, join(config.dataDir, 'assets/incoming'));
  const index = createSqlAssetIndex({
    database,
    clock,
    hashes: (handle) => handleHash.handle(handle),
  });
  const converter = await Converter.open(join(config.dataDir, 'converter'), log, {
    program: ATTACHMENT_PROGRAM,
  });
  life.add('converter', () => converter.close());
  const take = createUploads({
    assets,
    index,
    converter: createAssetConverter({
      assets,
      converter,
      convertHeic: choice.convertHeic && hasHeicDecoder(log),
    }),
    suspects,
    clock,
    log,
    baseUrl,
    quotaBytes: choice.quotaBytes,
    retentionDays: async (locationId) =>
      (await retention.value.of(locationId)).assetDays ?? choice.retentionDays,
  });
  life.add(
    'pruning attachments',
    pruneHourly({ clock, log, mayDelete }, 'asset.prune_failed', async () => {
      await pruneAssets(assets, index);
      await index.recount();
    }),
  );
  return {
    assets,
    index,
    take,
    publicRoutes: [assetRoutes({ assets, index, clock })],
    operatorRoutes: [assetsRoutes(index)],
  };
}

async function openAssets(choice: Config['assets'], spoolFolder: string): Promise<Assets> {
  if (choice.engine === 'disk') return openDiskAssets({ directory: choice.folder });
  const { openS3Assets } = await import('../relay/assets/assets-s3.ts');
  return openS3Assets({ ...choice, spoolFolder });
}
