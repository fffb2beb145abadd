import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';

import { readObject } from '@footbridge/protocol/read-json';
import { readBounded } from '@footbridge/runtime/read-bounded';
import { request } from 'undici';

import type { UploadResult, Uploads } from '../flows/inbound/receiver-deps.ts';

const TIMEOUT_MS = 120_000;
const MAX_RESPONSE_BYTES = 65_536;
/** Statuses after which a retry cannot succeed. */
const FINAL_STATUSES: ReadonlySet<number> = new Set([400, 413, 415, 422]);

/** A sender can choose any text as the MIME type, and a request with an invalid header would fail for ever. */
const MIME_TYPE = /^[\w!#$&^.+-]+\/[\w!#$&^.+-]+$/;

/** Uploads files to the service. */
export function createUploads(url: string, token: () => Promise<string | undefined>): Uploads {
  return {
    upload: async (file, signal): Promise<UploadResult> => {
      const deviceToken = await token();
      if (deviceToken === undefined) return { ok: false, final: false, reason: 'this Mac is not activated' };
      const size = await stat(file.path).then(
        (found) => found.size,
        () => undefined,
      );
      if (size === undefined) return { ok: false, final: true, reason: 'the file no longer exists' };
      try {
        const { statusCode, body } = await request(`${url}/mac/assets`, {
          method: 'POST',
          headers: {
            authorization: `Bearer ${deviceToken}`,
            'content-type': MIME_TYPE.test(file.mime) ? file.mime : 'application/octet-stream',
            'content-length': String(size),
            // Header values must be ASCII.
            'x-file-name': encodeURIComponent(file.name.toWellFormed()),
          },
          body: createReadStream(file.path),
          signal: AbortSignal.any([AbortSignal.timeout(TIMEOUT_MS), signal]),
        });
        const text = await readBounded(body, MAX_RESPONSE_BYTES);
        if (statusCode === 201) return readUrl(readObject(String(text ?? '')));
        const final = FINAL_STATUSES.has(statusCode);
        return { ok: false, final, reason: `the service responded with HTTP ${statusCode}` };
      } catch {
        return { ok: false, final: false, reason: 'the service cannot be reached' };
      }
    },
  };
}

function readUrl({ url }: Readonly<Record<string, unknown>>): UploadResult {
  return typeof url === 'string'
    ? { ok: true, url }
    : { ok: false, final: false, reason: 'the response of the service has no url' };
}
