import type { Finding } from '../../platform/findings.ts';

export interface Disk {
  readonly host: string;
  readonly freeBytes: number;
  readonly totalBytes: number;
}

const MIN_FREE_SHARE = 0.05;
const MIN_FREE_BYTES = 500_000_000;

export function fullDisk({ host, freeBytes, totalBytes }: Disk): Finding[] {
  if (freeBytes >= MIN_FREE_BYTES && freeBytes >= totalBytes * MIN_FREE_SHARE) return [];
  return [
    {
      kind: 'disk_almost_full',
      subject: host,
      locationIds: null,
      sentence: `The disk of ${host} has ${Math.floor(freeBytes / 1_000_000)} MB left of ${Math.floor(totalBytes / 1_000_000)} MB.`,
      action:
        'Free space on it, or lower JOURNAL_RETENTION_DAYS and ASSET_RETENTION_DAYS. On a full disk nothing can be recorded.',
      since: null,
    },
  ];
}
