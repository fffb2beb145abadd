import { randomBytes } from 'node:crypto';

import { isObject } from '@footbridge/protocol/schema';

import type { CrmStorage } from '../../flows/assets/prepare-attachments.ts';
import type { CrmClient } from './crm-client.ts';
import { readJson } from './crm-reason.ts';

const TRIES = 2;
const TIMEOUT_MS = 10_000;

/** `POST /conversations/messages/upload`: one file at a time, and our own address when the CRM does not want it. */
export function createUploadCalls(client: CrmClient): CrmStorage {
  return {
    async put({ locationId, contactId, name, contentType, bytes }) {
      const { body, type } = multipart({ locationId, contactId }, { name, contentType, bytes });
      const outcome = await client.call(
        {
          operation: 'upload',
          locationId,
          bearer: 'any',
          method: 'POST',
          path: '/conversations/messages/upload',
          body,
          contentType: type,
          wantsBody: true,
          timeoutMs: TIMEOUT_MS,
        },
        { wanted: () => true, again: ({ attempts }) => attempts < TRIES },
      );
      if (outcome.kind !== 'ok') return undefined;
      const answer = readJson(outcome.text);
      const files =
        isObject(answer) && isObject(answer['uploadedFiles']) ? Object.values(answer['uploadedFiles']) : [];
      return files.find((url): url is string => typeof url === 'string' && URL.canParse(url));
    },
  };
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
