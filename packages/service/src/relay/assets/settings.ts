import { choice, onOff, text, webAddress, wholeNumber } from '../../platform/settings/parsers.ts';
import { SECRET, settingIn, without } from '../../platform/settings/setting.ts';
import type { Findings, Given, ValuesOf } from '../../platform/settings/setting.ts';
import type { CLUSTER } from '../switchboard/settings.ts';

const megabytes = (minimum: number, maximum: number) => (value: string) =>
  wholeNumber(minimum, maximum)(value) * 1_000_000;

const setting = settingIn('Assets');

/** Stored files. */
export const ASSETS = {
  assetStore: setting(
    'ASSET_STORE',
    'disk',
    choice('disk', 's3'),
    'Where attachments are kept: in DATA_DIR, or in an S3-compatible bucket.',
  ),
  assetDays: setting('ASSET_RETENTION_DAYS', '90', wholeNumber(1, 3650), 'Days to keep attachments.'),
  quotaBytes: setting(
    'ASSET_QUOTA_MB',
    '10240',
    megabytes(1, 100_000_000),
    'Maximum megabytes of attachments per location.',
  ),
  quotaBytesPerSeat: setting(
    'ASSET_QUOTA_SEAT_MB',
    '10240',
    megabytes(1, 100_000_000),
    'Maximum megabytes of attachments per license, for each of its seats, over all its locations.',
  ),
  convertHeic: setting(
    'MEDIA_HEIC',
    'on',
    onOff,
    'Convert HEIC images. off: they are delivered as HEIC. See docs/attachments.md for the license of the decoder.',
  ),
  s3Endpoint: setting(
    'ASSET_S3_ENDPOINT',
    undefined,
    webAddress,
    'Address of the bucket, bucket name included.',
  ),
  s3Region: setting('ASSET_S3_REGION', 'auto', text, 'Region of the bucket.'),
  s3AccessKeyId: setting('ASSET_S3_ACCESS_KEY_ID', undefined, text, 'Access key of the bucket.'),
  s3SecretAccessKey: setting(
    'ASSET_S3_SECRET_ACCESS_KEY',
    undefined,
    text,
    'Secret of that access key.',
    SECRET,
  ),
} as const;

const S3 = {
  s3Endpoint: 'ASSET_S3_ENDPOINT',
  s3AccessKeyId: 'ASSET_S3_ACCESS_KEY_ID',
  s3SecretAccessKey: 'ASSET_S3_SECRET_ACCESS_KEY',
} as const;

export function assetFindings(
  settings: Partial<ValuesOf<typeof ASSETS & typeof CLUSTER>>,
  given: Given,
): Findings {
  const { assetStore, redisUrl } = settings;
  if (assetStore === 's3')
    return {
      problems: (['s3Endpoint', 's3AccessKeyId', 's3SecretAccessKey'] as const)
        .filter((key) => settings[key] === undefined)
        .map((key) => `${S3[key]} is required with ASSET_STORE=s3`),
    };
  return {
    warnings: [
      ...without('ASSET_STORE=s3', given, /^ASSET_S3_/),
      ...(assetStore === 'disk' && redisUrl !== undefined
        ? [
            'REDIS_URL is set with ASSET_STORE=disk: each node stores its own attachments, and the other nodes return 404 for them; set ASSET_STORE=s3 when you run several nodes',
          ]
        : []),
    ],
  };
}
