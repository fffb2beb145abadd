import { join } from 'node:path';

import { ATTACHMENT_PROGRAM } from '@footbridge/media/attachment-converter';
import { Converter } from '@footbridge/media/converter';
import { hasHeicDecoder } from '@footbridge/media/heic-decoder';
import type { FastifyInstance } from 'fastify';

import type { BridgeContext } from './context.ts';
import { pruneHourly } from './prune-hourly.ts';
import type { Config } from '../config/config.ts';
import { assetRoutes } from '../edges/http/asset-routes.ts';
import { createAssetConverter } from '../edges/media/asset-converter.ts';
import { assetsRoutes } from '../edges/operator/assets-routes.ts';
import { pruneAssets } from '../flows/assets/prune-assets.ts';
import { createUploads } from '../flows/assets/take-upload.ts';
import type { Upload, UploadOutcome } from '../flows/assets/take-upload.ts';
import type { AssetIndex } from '../ports/asset-index/asset-index.ts';
import { createSqlAssetIndex } from '../ports/asset-index/asset-index-sql.ts';
import type { Assets } from '../ports/assets/assets.ts';
import { openDiskAssets } from '../ports/assets/assets-disk.ts';
import type { KeyedHash } from '../ports/journal/keyed-hash.ts';
import type { Retention } from '../ports/retention/retention.ts';
import type { Suspects } from '../ports/suspects/suspects.ts';
import type { OpenDatabase } from '../sql/open-database.ts';

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
  readonly retention: Retention;
}

/** Attachments: storage, index, conversion and the routes that serve them. */
export async function composeAssets(
  { config, log, clock, life }: BridgeContext,
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
    retentionDays: async (locationId) => (await retention.of(locationId)).assetDays ?? choice.retentionDays,
  });
  life.add(
    'pruning attachments',
    pruneHourly({ clock, log }, 'asset.prune_failed', async () => {
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
  const { openS3Assets } = await import('../ports/assets/assets-s3.ts');
  return openS3Assets({ ...choice, spoolFolder });
}
