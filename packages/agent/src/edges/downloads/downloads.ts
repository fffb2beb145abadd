import { randomUUID } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { lookup } from 'node:dns/promises';
import { isIP } from 'node:net';
import type { LookupFunction } from 'node:net';
import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { Transform } from 'node:stream';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';

import { Agent, request } from 'undici';

import type { DownloadResult, DownloadLimits, Downloads } from '../../flows/outbound/job-deps.ts';
import { isLoopbackAddress, isPublicAddress } from './addresses.ts';
import { fileNameOf, mimeOf } from './file-names.ts';

export type Resolve = (host: string) => Promise<readonly string[]>;

export interface DownloadOptions {
  /** For tests and the demo: loopback, also by http. Nothing else that is private. */
  readonly allowLoopback: boolean;
  readonly resolve?: Resolve;
  /** A certificate authority of a test's own. */
  readonly ca?: string;
}

const MAX_REDIRECTS = 3;

/**
 * Fetches what strangers ask a Mac to fetch (T13). A name is resolved once, every address it has must be public, and
 * the connection goes to exactly the address that was judged: a second answer of the DNS cannot change it. The same
 * holds for each redirect.
 */
export function createDownloads(options: DownloadOptions): Downloads {
  const resolve = options.resolve ?? resolveAll;
  return {
    fetch: async (url, folder, limits) => {
      const signal = AbortSignal.timeout(limits.timeoutMs);
      try {
        return await follow(url, folder, limits, { ...options, resolve, signal });
      } catch (error) {
        if (error instanceof TooLarge) {
          return fail('too-large', `it is larger than ${Math.floor(limits.maxBytes / 1024 / 1024)} MB`);
        }
        if (signal.aborted) return fail('timeout', `it did not arrive within ${limits.timeoutMs / 1000} s`);
        return fail('failed', `the network failed (${codeOf(error)})`);
      }
    },
  };
}

interface Fetching extends DownloadOptions {
  readonly resolve: Resolve;
  readonly signal: AbortSignal;
}

type Failed = Extract<DownloadResult, { ok: false }>;

class TooLarge extends Error {}

async function follow(
  first: string,
  folder: string,
  limits: DownloadLimits,
  fetching: Fetching,
): Promise<DownloadResult> {
  let url = URL.parse(first);
  for (let hop = 0; hop <= MAX_REDIRECTS; hop += 1) {
    if (url === null) return fail('forbidden', 'the address is not a URL');
    const addresses = await judge(url, fetching);
    if ('ok' in addresses) return addresses;
    const answer = await get(url, addresses, folder, limits, fetching);
    if (!('redirect' in answer)) return answer;
    url = URL.parse(answer.redirect, url.href);
  }
  return fail('failed', `it was redirected more than ${MAX_REDIRECTS} times`);
}

/** The addresses to which a connection for this URL may go. */
async function judge(url: URL, { allowLoopback, resolve, signal }: Fetching): Promise<string[] | Failed> {
  if (url.protocol !== 'https:' && !(allowLoopback && url.protocol === 'http:')) {
    return fail('forbidden', 'only https addresses are fetched');
  }
  if (url.username !== '' || url.password !== '') {
    return fail('forbidden', 'the address carries a user name or a password');
  }
  const host = url.hostname.replace(/^\[|\]$/g, '');
  const addresses = isIP(host) === 0 ? await abortable(resolve(host), signal) : [host];
  if (addresses.length === 0) return fail('failed', 'its host has no address');
  const allowed = (address: string): boolean =>
    isLoopbackAddress(address) ? allowLoopback : url.protocol === 'https:' && isPublicAddress(address);
  if (!addresses.every(allowed)) {
    return fail('forbidden', 'its host is not on the public Internet');
  }
  return [...addresses];
}

async function get(
  url: URL,
  addresses: readonly string[],
  folder: string,
  limits: DownloadLimits,
  { signal, ca }: Fetching,
): Promise<DownloadResult | { readonly redirect: string }> {
  const agent = new Agent({
    connect: { lookup: pinnedTo(addresses), ...(ca === undefined ? {} : { ca }) },
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
    if (statusCode < 200 || statusCode > 299) return fail('failed', `its server answered ${statusCode}`);
    if (headers['content-encoding'] !== undefined && headers['content-encoding'] !== 'identity') {
      return fail('failed', 'its server compressed it although it was not asked to');
    }
    if (Number(headers['content-length'] ?? 0) > limits.maxBytes) throw new TooLarge();
    const name = fileNameOf(url, headers['content-disposition'], headers['content-type']);
    const path = await save(body, folder, name, limits.maxBytes, signal);
    return { ok: true, file: { path, name, mime: mimeOf(name, headers['content-type']) } };
  } finally {
    await agent.destroy();
  }
}

/** Whatever the name would resolve to now, these are the addresses that were judged. */
function pinnedTo(addresses: readonly string[]): LookupFunction {
  return (_host, options, callback) => {
    const found = addresses.map((address) => ({ address, family: isIP(address) }));
    if (options.all === true) callback(null, found);
    else callback(null, found[0]?.address ?? '', found[0]?.family ?? 4);
  };
}

async function save(
  body: Readable,
  folder: string,
  name: string,
  maxBytes: number,
  signal: AbortSignal,
): Promise<string> {
  // A folder for each file: two attachments may have the same name, and Messages shows the name.
  const own = join(folder, randomUUID());
  await mkdir(own, { recursive: true, mode: 0o700 });
  const path = join(own, name);
  let received = 0;
  const counted = new Transform({
    transform: (chunk: Buffer, _encoding, callback) => {
      received += chunk.byteLength;
      if (received > maxBytes) callback(new TooLarge());
      else callback(null, chunk);
    },
  });
  try {
    await pipeline(body, counted, createWriteStream(path, { mode: 0o600 }), { signal });
    return path;
  } catch (error) {
    await rm(own, { recursive: true, force: true });
    throw error;
  }
}

async function resolveAll(host: string): Promise<readonly string[]> {
  const found = await lookup(host, { all: true });
  return found.map((entry) => entry.address);
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

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : 'unknown';
}
