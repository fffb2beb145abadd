import { randomUUID } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { isIP } from 'node:net';
import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { Transform } from 'node:stream';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';

import { errorCode } from '@footbridge/runtime/error-code';
import { isLoopbackAddress, isPublicAddress, pinnedTo, resolveAll } from '@footbridge/runtime/public-address';
import { Agent, request } from 'undici';

import type { DownloadLimits, DownloadResult, Downloads } from '../../flows/outbound/job-deps.ts';
import { fileNameOf, mimeOf } from './file-names.ts';

export type Resolve = (host: string) => Promise<readonly string[]>;

export interface DownloadOptions {
  /** Also allows loopback addresses. For tests and the demo. */
  readonly allowLoopback: boolean;
  readonly resolve?: Resolve;
}

const MAX_REDIRECTS = 3;

/**
 * Downloads from untrusted URLs without reaching private networks (T13). The host name is resolved once, all its addresses
 * must be public, and the connection is pinned to those addresses, so that DNS rebinding has no effect. Every redirect is
 * checked the same way.
 */
export function createDownloads(options: DownloadOptions): Downloads {
  const resolve = options.resolve ?? resolveAll;
  return {
    fetch: async (url, folder, limits) => {
      const signal = AbortSignal.timeout(limits.timeoutMs);
      try {
        return await followRedirects(url, folder, limits, { ...options, resolve, signal });
      } catch (error) {
        if (error instanceof FileTooLargeError) {
          return fail('too-large', `the file is larger than ${Math.floor(limits.maxBytes / 1024 / 1024)} MB`);
        }
        if (signal.aborted)
          return fail('timeout', `the download took longer than ${limits.timeoutMs / 1000} s`);
        return fail('failed', `the connection failed (${errorCode(error) ?? 'unknown'})`);
      }
    },
  };
}

interface DownloadContext extends DownloadOptions {
  readonly resolve: Resolve;
  readonly signal: AbortSignal;
}

type Failed = Extract<DownloadResult, { ok: false }>;

class FileTooLargeError extends Error {
  override readonly name = 'FileTooLargeError';
}

async function followRedirects(
  first: string,
  folder: string,
  limits: DownloadLimits,
  context: DownloadContext,
): Promise<DownloadResult> {
  let url = URL.parse(first);
  for (let hop = 0; hop <= MAX_REDIRECTS; hop += 1) {
    if (url === null) return fail('forbidden', 'the URL is invalid');
    const isSecure = url.protocol === 'https:';
    const addresses = await allowedAddresses(url, context);
    if ('ok' in addresses) return addresses;
    const result = await get(url, addresses, folder, limits, context);
    if (!('redirect' in result)) return result;
    url = URL.parse(result.redirect, url.href);
    if (isSecure && url?.protocol === 'http:') return fail('forbidden', 'https redirects to http');
  }
  return fail('failed', `more than ${MAX_REDIRECTS} redirects`);
}

/** Returns the addresses that may be connected to for this URL. */
async function allowedAddresses(
  url: URL,
  { allowLoopback, resolve, signal }: DownloadContext,
): Promise<string[] | Failed> {
  if (url.protocol !== 'https:' && url.protocol !== 'http:') {
    return fail('forbidden', 'the URL is neither http nor https');
  }
  if (url.username !== '' || url.password !== '') {
    return fail('forbidden', 'the URL contains a user name or a password');
  }
  const host = url.hostname.replace(/^\[|\]$/g, '');
  const addresses = isIP(host) === 0 ? await abortable(resolve(host), signal) : [host];
  if (addresses.length === 0) return fail('failed', 'the host has no address');
  const allowed = (address: string): boolean =>
    isLoopbackAddress(address) ? allowLoopback : isPublicAddress(address);
  if (!addresses.every(allowed)) {
    return fail('forbidden', 'the host is not on the public Internet');
  }
  return [...addresses];
}

async function get(
  url: URL,
  addresses: readonly string[],
  folder: string,
  limits: DownloadLimits,
  { signal }: DownloadContext,
): Promise<DownloadResult | { readonly redirect: string }> {
  const agent = new Agent({
    connect: { lookup: pinnedTo(addresses) },
    pipelining: 0,
    maxHeaderSize: 16 * 1024,
  });
  try {
    const { statusCode, headers, body } = await request(url, {
      dispatcher: agent,
      signal,
      headers: { accept: '*/*', 'accept-encoding': 'identity', 'user-agent': 'footbridge-agent' },
    });
    const { location } = headers;
    if (statusCode >= 300 && statusCode < 400 && typeof location === 'string') {
      return { redirect: location };
    }
    if (statusCode < 200 || statusCode > 299)
      return fail('failed', `the server responded with HTTP ${statusCode}`);
    if (headers['content-encoding'] !== undefined && headers['content-encoding'] !== 'identity') {
      return fail('failed', 'the server compressed the file although the request forbids it');
    }
    if (Number(headers['content-length'] ?? 0) > limits.maxBytes) throw new FileTooLargeError();
    const name = fileNameOf(url, headers['content-disposition'], headers['content-type']);
    const path = await save(body, folder, name, limits.maxBytes, signal);
    return { ok: true, file: { path, name, mime: mimeOf(name, headers['content-type']) } };
  } finally {
    await agent.destroy();
  }
}

async function save(
  body: Readable,
  folder: string,
  name: string,
  maxBytes: number,
  signal: AbortSignal,
): Promise<string> {
  // A subfolder per file: two attachments may have the same name, and Messages shows the name.
  const subfolder = join(folder, randomUUID());
  await mkdir(subfolder, { recursive: true, mode: 0o700 });
  const path = join(subfolder, name);
  let received = 0;
  const counted = new Transform({
    transform: (chunk: Buffer, _encoding, callback) => {
      received += chunk.byteLength;
      if (received > maxBytes) callback(new FileTooLargeError());
      else callback(null, chunk);
    },
  });
  try {
    await pipeline(body, counted, createWriteStream(path, { mode: 0o600 }), { signal });
    return path;
  } catch (error) {
    await rm(subfolder, { recursive: true, force: true });
    throw error;
  }
}

async function abortable<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  let stop: () => void = () => {};
  const aborted = new Promise<never>((_resolve, reject) => {
    stop = () => reject(new Error('aborted'));
    signal.addEventListener('abort', stop, { once: true });
  });
  try {
    return await Promise.race([work, aborted]);
  } finally {
    signal.removeEventListener('abort', stop);
  }
}

function fail(reason: Failed['reason'], message: string): Failed {
  return { ok: false, reason, message };
}
