import { isUtf8 } from 'node:buffer';
import type { IncomingMessage } from 'node:http';

import { exceedsJsonLimits } from '@footbridge/protocol/json-size';

import { isPlainJson } from './webhook-request.ts';

const MAX_BODY = 1_048_576;
/** How much of a rejected body is still read, so that the sender gets the response before the socket closes. */
const MAX_DRAINED = 16 * MAX_BODY;

export type BodyFault = 400 | 413 | 415;

/**
 * Collects the bytes of a webhook, reports their number as it grows, and calls back once: with all of them, or with the status that ends the request before its
 * signature is checked (W14). There is no callback when the sender disconnects.
 */
export function readBody(
  request: IncomingMessage,
  onSize: (bytes: number) => void,
  done: (body: Buffer | BodyFault) => void,
): void {
  const encoding = request.headers['content-encoding'];
  if (encoding !== undefined && encoding !== '' && encoding.toLowerCase() !== 'identity')
    return rejectBody(request, 415, done);
  if (Number(request.headers['content-length'] ?? 0) > MAX_BODY) return rejectBody(request, 413, done);

  const chunks: Buffer[] = [];
  let size = 0;
  const collect = (chunk: Buffer) => {
    size += chunk.length;
    chunks.push(chunk);
    onSize(size);
    if (size <= MAX_BODY) return;
    request.off('data', collect).off('end', finish);
    rejectBody(request, 413, done);
  };
  const finish = () => {
    const body = chunks.length === 1 && chunks[0] !== undefined ? chunks[0] : Buffer.concat(chunks);
    // The request references this function, and a large body may wait before it is parsed.
    chunks.length = 0;
    done(body);
  };
  request.on('data', collect).on('end', finish);
}

function rejectBody(request: IncomingMessage, status: BodyFault, done: (fault: BodyFault) => void): void {
  let drained = 0;
  request.on('data', (chunk: Buffer) => {
    drained += chunk.length;
    if (drained > MAX_DRAINED) request.destroy();
  });
  done(status);
}

const UTF8 = /;\s*charset\s*=\s*"?utf-?8"?\s*(;|$)/;

/** Returns the parsed body, undefined when there is nothing to parse, or the status that ends the request (W13, W14). */
export function parseBody(raw: Buffer, contentType: string): { json: unknown } | BodyFault {
  if (!isPlainJson(contentType)) return NOTHING;
  if (contentType.includes('charset') && !UTF8.test(contentType)) return 415;
  if (raw.length === 0) return NOTHING;
  if (!isUtf8(raw) || exceedsJsonLimits(raw, LIMITS)) return 400;
  const text = raw.toString('utf8');
  try {
    const json: unknown = JSON.parse(text.charCodeAt(0) === BYTE_ORDER_MARK ? text.slice(1) : text);
    return typeof json === 'object' && json !== null ? { json } : 400;
  } catch {
    return 400;
  }
}

/** Without a limit, a megabyte of brackets, names or items would keep the parser busy for a tenth of a second, before any signature is checked. */
const LIMITS = { brackets: 32_768, names: 12_000, commas: 131_072 } as const;

const NOTHING = { json: undefined };
const BYTE_ORDER_MARK = 0xfeff;
