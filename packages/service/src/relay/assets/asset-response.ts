import { mediaType } from '@footbridge/media/media-types';

import { contentDisposition } from './content-disposition.ts';

export interface ServableAsset {
  name: string;
  contentType: string;
  size: number;
  /** Hex. The ETag is made from it: two contents never share one. */
  sha256: string;
  expiresAt: Date;
}

export interface AssetRequestHeaders {
  range?: string | undefined;
  'if-range'?: string | undefined;
  'if-none-match'?: string | undefined;
}

export interface AssetResponse {
  status: 200 | 206 | 304 | 416;
  headers: Record<string, string>;
  /** The bytes of the file to send; absent when the response has no body. HEAD sends the headers alone. */
  body?: { start: number; length: number };
}

/**
 * No browser executes a stored file: the content type is fixed and must not be sniffed, and a file opened as a page
 * runs in a sandbox without scripts, forms or an origin.
 */
const PROTECTION = {
  'X-Content-Type-Options': 'nosniff',
  'Content-Security-Policy':
    "sandbox; default-src 'none'; img-src 'self'; media-src 'self'; style-src 'unsafe-inline'; frame-ancestors *",
  // The CRM's pages embed these files from another origin, and so does a recording opened on its own in the sandbox.
  'Cross-Origin-Resource-Policy': 'cross-origin',
  'Access-Control-Allow-Origin': '*',
  'Referrer-Policy': 'no-referrer',
  'X-Robots-Tag': 'noindex',
} as const;

const WEEK_SECONDS = 7 * 24 * 3600;

/** Returns the response to GET or HEAD on a stored file, without reading the file. */
export function assetResponse(asset: ServableAsset, request: AssetRequestHeaders, now: Date): AssetResponse {
  const type = mediaType(asset.contentType);
  const etag = `"${asset.sha256}"`;
  const headers: Record<string, string> = {
    ...PROTECTION,
    ETag: etag,
    'Accept-Ranges': 'bytes',
    'Cache-Control': cacheControl(asset.expiresAt, now),
  };
  if (matchesAny(request['if-none-match'], etag)) return { status: 304, headers };

  headers['Content-Type'] = type.served;
  headers['Content-Disposition'] = contentDisposition(type.disposition, asset.name);
  // A range applies to the version that If-Range names; for another version the response is the whole file.
  const applies = request['if-range'] === undefined || request['if-range'] === etag;
  const range = applies ? parseRange(request.range, asset.size) : WHOLE;
  if (range.kind === 'unsatisfiable') {
    headers['Content-Length'] = '0';
    headers['Content-Range'] = `bytes */${asset.size}`;
    return { status: 416, headers };
  }
  const { start, end } = range.kind === 'part' ? range : { start: 0, end: asset.size - 1 };
  const length = end - start + 1;
  headers['Content-Length'] = String(length);
  if (range.kind === 'whole') return { status: 200, headers, body: { start, length } };
  headers['Content-Range'] = `bytes ${start}-${end}/${asset.size}`;
  return { status: 206, headers, body: { start, length } };
}

/** Private caches only, and never beyond the asset's expiry. */
function cacheControl(expiresAt: Date, now: Date): string {
  const left = Math.floor((expiresAt.getTime() - now.getTime()) / 1000);
  return `private, max-age=${Math.max(0, Math.min(WEEK_SECONDS, left))}, immutable`;
}

/** If-None-Match compares weakly: a proxy may have prefixed our tag with `W/`. */
function matchesAny(header: string | undefined, etag: string): boolean {
  if (header === undefined) return false;
  if (header.trim() === '*') return true;
  return header.split(',').some((tag) => tag.trim().replace(/^W\//, '') === etag);
}

type Range = { kind: 'whole' } | { kind: 'part'; start: number; end: number } | { kind: 'unsatisfiable' };

const WHOLE: Range = { kind: 'whole' };

/**
 * RFC 9110: an invalid range header is ignored, a range outside the file is not satisfiable. A request for several
 * ranges gets the whole file: no client of ours sends one, and multipart responses multiply the work.
 */
export function parseRange(header: string | undefined, size: number): Range {
  const [, first = '', last = ''] = /^bytes=\s*(\d*)-(\d*)\s*$/i.exec(header ?? '') ?? [];
  if (first === '' && last === '') return WHOLE;
  if (first === '') {
    const length = Math.min(Number(last), size);
    return length === 0 ? { kind: 'unsatisfiable' } : { kind: 'part', start: size - length, end: size - 1 };
  }
  const start = Number(first);
  const end = last === '' ? size - 1 : Number(last);
  if (last !== '' && end < start) return WHOLE;
  return start >= size ? { kind: 'unsatisfiable' } : { kind: 'part', start, end: Math.min(end, size - 1) };
}
