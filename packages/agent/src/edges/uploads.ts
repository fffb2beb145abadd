import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';

import { request } from 'undici';

import type { Uploaded, Uploads } from '../flows/inbound/receive-messages.ts';

const TIMEOUT_MS = 120_000;
/** The service will say the same tomorrow: too large, of a kind it does not take, not to be understood. */
const FINAL: ReadonlySet<number> = new Set([400, 413, 415, 422]);

/** Hands files to the service, which gives them an address. */
export function createUploads(url: string, token: () => Promise<string | undefined>): Uploads {
  return {
    upload: async (file, stopping): Promise<Uploaded> => {
      const bearer = await token();
      if (bearer === undefined) return { ok: false, final: false, reason: 'this Mac is not activated' };
      const size = await stat(file.path).then(
        (found) => found.size,
        () => undefined,
      );
      if (size === undefined) return { ok: false, final: true, reason: 'the file is gone' };
      try {
        const { statusCode, body } = await request(`${url}/mac/assets`, {
          method: 'POST',
          headers: {
            authorization: `Bearer ${bearer}`,
            'content-type': file.mime,
            'content-length': String(size),
            // Header values are ASCII; a name is not.
            'x-file-name': encodeURIComponent(file.name.toWellFormed()),
          },
          body: createReadStream(file.path),
          signal: AbortSignal.any([AbortSignal.timeout(TIMEOUT_MS), stopping]),
        });
        const answer: unknown = await body.json().catch(() => undefined);
        if (statusCode === 201) return readUrl(answer);
        return { ok: false, final: FINAL.has(statusCode), reason: `the service answered ${statusCode}` };
      } catch {
        return { ok: false, final: false, reason: 'the service cannot be reached' };
      }
    },
  };
}

function readUrl(answer: unknown): Uploaded {
  const told = typeof answer === 'object' && answer !== null && 'url' in answer ? answer.url : undefined;
  return typeof told === 'string'
    ? { ok: true, url: told }
    : { ok: false, final: false, reason: 'the service answered without a url' };
}
