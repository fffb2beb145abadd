import type { LocalFile } from '../../ports/messages/messages.ts';
import { refused } from './outcome.ts';
import type { Refused } from './outcome.ts';
import type { DownloadLimits, Tools } from './job-deps.ts';

const LIMITS: DownloadLimits = { maxBytes: 100 * 1024 * 1024, timeoutMs: 30_000 };

const CODES = {
  forbidden: 'INVALID_FRAME',
  failed: 'IMESSAGE_ERROR',
  'too-large': 'IMESSAGE_ERROR',
  timeout: 'TIMEOUT',
} as const;

/** All of them, before anything is sent: a message whose second file is missing should not have gone out by half. */
export async function fetchAttachments(
  urls: readonly string[],
  { downloads, scratch }: Tools,
): Promise<readonly LocalFile[] | Refused> {
  const folder = await scratch.folder();
  const files: LocalFile[] = [];
  for (const [index, url] of urls.entries()) {
    const downloaded = await downloads.fetch(url, folder, LIMITS);
    if (!downloaded.ok) {
      return refused(
        CODES[downloaded.reason],
        `Attachment ${index + 1} could not be fetched: ${downloaded.message}. Nothing was sent.`,
      );
    }
    files.push(downloaded.file);
  }
  return files;
}
