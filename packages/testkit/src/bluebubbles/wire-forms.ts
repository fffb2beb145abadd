import type { ServerResponse } from 'node:http';
import { gzipSync } from 'node:zlib';

import type { Reply } from './responses.ts';
import type { WireForm } from './settings.ts';

const JSON_TYPE = { 'Content-Type': 'application/json; charset=utf-8' };
const CHUNK_BYTES = 7;

/** Sends a response in one of the forms that HTTP allows. `pause` is the time between two lines of a slow header. */
export async function sendInForm(
  response: ServerResponse,
  { status, body }: Reply,
  form: WireForm,
  pause: () => Promise<void>,
): Promise<void> {
  const bytes = Buffer.from(JSON.stringify(body));
  if (form === 'plain') response.writeHead(status, JSON_TYPE).end(bytes);
  if (form === 'marked') response.writeHead(status, JSON_TYPE).end(`\uFEFF${bytes.toString()}`);
  if (form === 'gzip')
    response.writeHead(status, { ...JSON_TYPE, 'Content-Encoding': 'gzip' }).end(gzipSync(bytes));
  if (form === 'chunked') {
    response.writeHead(status, JSON_TYPE);
    for (let at = 0; at < bytes.length; at += CHUNK_BYTES)
      response.write(bytes.subarray(at, at + CHUNK_BYTES));
    response.end();
  }
  if (form === 'closing' || form === 'slow_header') {
    const lines = [`HTTP/1.1 ${status} Status`, 'Content-Type: application/json', 'Connection: close', ''];
    for (const line of lines) {
      response.socket?.write(`${line}\r\n`);
      if (form === 'slow_header') await pause();
    }
    response.socket?.end(bytes);
  }
}
