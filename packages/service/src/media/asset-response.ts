import { contentDisposition } from './file-name.ts';
import { mediaType } from './media-types.ts';

/** What is known of a stored file by the time somebody asks for it. */
export interface ServableAsset {
  name: string;
  contentType: string;
  size: number;
  /** Hex; makes the ETag, since a name may come to stand for other bytes but a digest cannot. */
  sha256: string;
  expiresAt: Date;
}

export interface AssetRequestHeaders {
  range?: string | undefined;
  'if-range'?: string | undefined;
  'if-none-match'?: string | undefined;
}

export interface AssetAnswer {
  status: 200 | 206 | 304 | 416;
  headers: Record<string, string>;
  /** The bytes to send after the headers; absent when none follow. A HEAD answer is the same without them. */
  body?: { start: number; length: number };
}

/**
 * Whatever a stored file contains, no browser runs it: one fixed type that must not be guessed at, and a sandbox
 * without script, forms or an origin should the file be opened as a page of its own.
 */
const PROTECTION = {
  'X-Content-Type-Options': 'nosniff',
  'Content-Security-Policy':
    "sandbox; default-src 'none'; img-src 'self'; media-src 'self'; style-src 'unsafe-inline'; frame-ancestors *",
  // The CRM's pages embed these files from another origin; a recording opened on its own, in the sandbox, is one too.
  'Cross-Origin-Resource-Policy': 'cross-origin',
  'Access-Control-Allow-Origin': '*',
  'Referrer-Policy': 'no-referrer',
  'X-Robots-Tag': 'noindex',
} as const;

const WEEK_SECONDS = 7 * 24 * 3600;

/** The whole answer for GET and HEAD on a stored file, without touching its bytes. */
export function answerAsset(asset: ServableAsset, request: AssetRequestHeaders, now: Date): AssetAnswer {
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
  // A range is meant for the version named by If-Range; for any other one the whole file is the answer.
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

/** For the one person who has the address, until it ends; never in a cache that several people share. */
function cacheControl(expiresAt: Date, now: Date): string {
  const left = Math.floor((expiresAt.getTime() - now.getTime()) / 1000);
  return `private, max-age=${Math.max(0, Math.min(WEEK_SECONDS, left))}, immutable`;
}

/** If-None-Match compares weakly: a proxy may have marked our tag with `W/`. */
function matchesAny(header: string | undefined, etag: string): boolean {
  if (header === undefined) return false;
  if (header.trim() === '*') return true;
  return header.split(',').some((tag) => tag.trim().replace(/^W\//, '') === etag);
}

export type Range =
  | { kind: 'whole' }
  | { kind: 'part'; start: number; end: number }
  | { kind: 'unsatisfiable' };

const WHOLE: Range = { kind: 'whole' };

/**
 * RFC 9110: a header that is no valid byte range is ignored, one that lies outside the file is refused.
 * Several ranges at once are answered with the whole file: nobody needs them, and they multiply the work.
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
