import type { LocalFile } from '../../ports/messages/messages.ts';
import { failed } from './outcome.ts';
import type { Failed } from './outcome.ts';
import type { DownloadLimits, JobDeps } from './job-deps.ts';

const LIMITS: DownloadLimits = { maxBytes: 100 * 1024 * 1024, timeoutMs: 30_000 };

const CODES = {
  forbidden: 'INVALID_FRAME',
  failed: 'IMESSAGE_ERROR',
  'too-large': 'IMESSAGE_ERROR',
  timeout: 'TIMEOUT',
} as const;

/** Downloads all attachments before anything is sent, so that a missing file does not leave half a message sent. */
export async function fetchAttachments(
  urls: readonly string[],
  { downloads, scratch, steps }: JobDeps,
): Promise<readonly LocalFile[] | Failed> {
  const folder = await scratch.folder();
  const files: LocalFile[] = [];
  for (const [index, url] of urls.entries()) {
    const downloaded = await downloads.fetch(url, folder, LIMITS);
    if (!downloaded.ok) {
      const problem = `Attachment ${index + 1} could not be downloaded: ${downloaded.message}.`;
      return failed(CODES[downloaded.reason], steps.haveBegun() ? problem : `${problem} Nothing was sent.`);
    }
    files.push(downloaded.file);
  }
  return files;
}
