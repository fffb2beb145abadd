import type { IncomingMessage, ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { badRequest } from './responses.ts';
import type { CrmResponse } from './responses.ts';

export interface ReadBody {
  /** The recorded body: an object for JSON and forms, field names and files for multipart, otherwise text. */
  readonly body: unknown;
  readonly form?: FormData;
  readonly problem?: CrmResponse;
}

/** Resolves to undefined if the client disconnects before the body is complete. */
export async function readBody(request: IncomingMessage): Promise<ReadBody | undefined> {
  const bytes = await collect(request).catch(() => undefined);
  if (!bytes) return undefined;
  const type = request.headers['content-type'] ?? '';
  if (type.startsWith('multipart/form-data')) return readMultipart(bytes, type);
  const text = bytes.toString();
  if (type.includes('application/x-www-form-urlencoded')) {
    return { body: Object.fromEntries(new URLSearchParams(text)) };
  }
  if (text === '' || !type.includes('json')) return { body: text === '' ? undefined : text };
  try {
    return { body: JSON.parse(text) };
  } catch (error) {
    return { body: text, problem: badRequest(error instanceof Error ? error.message : 'Bad JSON') };
  }
}

export async function writeResponse(
  response: ServerResponse,
  { status, body, headers }: CrmResponse,
  slowBodyMs: number,
): Promise<void> {
  const bytes = body === undefined ? Buffer.alloc(0) : Buffer.from(serialise(body));
  response.writeHead(status, {
    ...(body === undefined ? {} : { 'Content-Type': 'application/json; charset=utf-8' }),
    'Content-Length': bytes.length,
    ...headers,
  });
  if (slowBodyMs > 0) await trickle(response, bytes, slowBodyMs);
  else response.end(bytes);
}

async function collect(request: IncomingMessage): Promise<Buffer> {
  const parts: Buffer[] = [];
  for await (const part of request) parts.push(part);
  return Buffer.concat(parts);
}

async function readMultipart(bytes: Buffer, type: string): Promise<ReadBody> {
  try {
    const form = await new Response(new Uint8Array(bytes), { headers: { 'content-type': type } }).formData();
    const recorded = [...form].map(([name, value]) => [
      name,
      value instanceof File ? { file: value.name, size: value.size } : value,
    ]);
    return { body: recorded, form };
  } catch (error) {
    return { body: `${bytes.length} bytes`, problem: badRequest(`Multipart: ${String(error)}`) };
  }
}

function serialise(body: unknown): string {
  return typeof body === 'string' ? body : JSON.stringify(body);
}

async function trickle(response: ServerResponse, bytes: Buffer, overMs: number): Promise<void> {
  const pieces = 10;
  const size = Math.max(1, Math.ceil(bytes.length / pieces));
  for (let at = 0; at < bytes.length && !response.destroyed; at += size) {
    await sleep(overMs / pieces);
    response.write(bytes.subarray(at, at + size));
  }
  response.end();
}
