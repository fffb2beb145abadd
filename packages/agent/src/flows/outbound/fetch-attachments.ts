import { fetchOnce } from './fetch-file.ts';
import type { FetchFile } from './fetch-file.ts';
import type { DownloadLimits, JobDeps } from './job-deps.ts';
import { failed } from '../../outcome.ts';

const LIMITS: DownloadLimits = { maxBytes: 100 * 1024 * 1024, timeoutMs: 30_000 };

const CODES = {
  forbidden: 'INVALID_FRAME',
  failed: 'IMESSAGE_ERROR',
  'too-large': 'IMESSAGE_ERROR',
  timeout: 'TIMEOUT',
} as const;

/** Returns one function per attachment, which downloads it on the first call and caches the result. */
export function attachmentFetchers(urls: readonly string[], { downloads, scratch }: JobDeps): FetchFile[] {
  return urls.map((url, index) =>
    fetchOnce(async () => {
      const downloaded = await downloads.fetch(url, await scratch.folder(), LIMITS);
      if (downloaded.ok) return downloaded.file;
      const problem = `Attachment ${index + 1} could not be downloaded: ${downloaded.message}.`;
      return failed(CODES[downloaded.reason], `${problem} Nothing was sent.`);
    }),
  );
}
