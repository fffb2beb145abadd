import { randomBytes } from 'node:crypto';

import { readJson } from '@footbridge/protocol/read-json';
import { isObject } from '@footbridge/protocol/schema';

import type { CrmStorage } from './prepare-attachments.ts';
import { failed, succeeded } from '../../platform/retry/retry.ts';
import type { Attempt } from '../../platform/retry/retry.ts';
import type { CrmClient } from '../crm/crm-client.ts';

/** `POST /conversations/messages/upload`, one file at a time. */
export function createUploadCalls(client: CrmClient): CrmStorage {
  return {
    put({ locationId, contactId, name, contentType, bytes }, guard) {
      const { body, type } = multipart({ locationId, contactId }, { name, contentType, bytes });
      return client.attempt(
        {
          operation: 'upload',
          locationId,
          bearer: 'any',
          method: 'POST',
          path: '/conversations/messages/upload',
          body,
          contentType: type,
          read: readUrl,
        },
        guard,
      );
    },
  };
}

function readUrl(text: string, status: number): Attempt<string> {
  const body = readJson(text);
  const files = isObject(body) && isObject(body['uploadedFiles']) ? Object.values(body['uploadedFiles']) : [];
  const url = files.find((file): file is string => typeof file === 'string' && URL.canParse(file));
  return url === undefined
    ? failed('refused', { retryable: false, status, reason: 'no URL in the response' })
    : succeeded(url);
}

function multipart(
  fields: Record<string, string>,
  file: { name: string; contentType: string; bytes: Buffer },
): { body: Buffer; type: string } {
  const boundary = `footbridge-${randomBytes(16).toString('hex')}`;
  const quoted = (text: string) => text.replaceAll(/["\r\n\\]/g, '_');
  const parts = Object.entries(fields).map(
    ([name, value]) =>
      `--${boundary}\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${value.replaceAll(/[\r\n]/g, ' ')}\r\n`,
  );
  const head = `${parts.join('')}--${boundary}\r\nContent-Disposition: form-data; name="fileAttachment"; filename="${quoted(file.name)}"\r\nContent-Type: ${file.contentType}\r\n\r\n`;
  return {
    body: Buffer.concat([Buffer.from(head), file.bytes, Buffer.from(`\r\n--${boundary}--\r\n`)]),
    type: `multipart/form-data; boundary=${boundary}`,
  };
}
