/** MIME types by extension. All others are `application/octet-stream`. */
const TYPES: Readonly<Record<string, string>> = {
  jpg: 'image/jpeg',
  jpeg: 'image/jpeg',
  png: 'image/png',
  gif: 'image/gif',
  webp: 'image/webp',
  heic: 'image/heic',
  svg: 'image/svg+xml',
  mp4: 'video/mp4',
  mov: 'video/quicktime',
  m4a: 'audio/mp4',
  mp3: 'audio/mpeg',
  wav: 'audio/wav',
  ogg: 'audio/ogg',
  opus: 'audio/ogg',
  caf: 'audio/x-caf',
  amr: 'audio/amr',
  aac: 'audio/aac',
  pdf: 'application/pdf',
  vcf: 'text/vcard',
  ics: 'text/calendar',
  txt: 'text/plain',
  csv: 'text/csv',
  json: 'application/json',
  zip: 'application/zip',
};

/** File systems limit a name to 255 bytes, and the agent makes some names longer. */
const MAX_NAME_BYTES = 200;
const UNKNOWN_TYPE = 'application/octet-stream';

/** Returns a safe file name from the `Content-Disposition` header, else from the URL. Never a path, never a hidden file. */
export function fileNameOf(url: URL, disposition: unknown, contentType: unknown): string {
  const given = fromDisposition(disposition) ?? decode(url.pathname.split('/').at(-1) ?? '');
  const name = sanitize(given) || 'attachment';
  if (/\.[A-Za-z0-9]{1,8}$/.test(name)) return name;
  const extension = extensionOf(mimeType(contentType));
  return extension === undefined ? name : `${name}.${extension}`;
}

/** Returns the type in the `Content-Type` header, or the type for the extension when the header is generic. */
export function mimeOf(name: string, contentType: unknown): string {
  const given = mimeType(contentType);
  if (given !== undefined && given !== UNKNOWN_TYPE && given !== 'binary/octet-stream') return given;
  return TYPES[name.split('.').at(-1)?.toLowerCase() ?? ''] ?? UNKNOWN_TYPE;
}

function fromDisposition(header: unknown): string | undefined {
  if (typeof header !== 'string' || header.length > 2000) return undefined;
  const encoded = /filename\*\s*=\s*utf-8''([^;\s]+)/i.exec(header)?.[1];
  if (encoded !== undefined) return decode(encoded);
  return /filename\s*=\s*"([^"]*)"/i.exec(header)?.[1] ?? /filename\s*=\s*([^;\s]+)/i.exec(header)?.[1];
}

function sanitize(name: string): string {
  const last = name.split(/[/\\]/).at(-1) ?? '';
  const printable = last.toWellFormed().replaceAll(/[\p{Cc}\p{Cf}:]/gu, '');
  // Cut from the front, to keep the extension. Leading dots go last: a cut can end right before one and hide the file.
  return withinBytes(printable.trim()).replace(/^[.\s]+/, '');
}

/** Returns the longest end of the name that fits. */
function withinBytes(name: string): string {
  const characters = Array.from(name);
  let bytes = Buffer.byteLength(name);
  let start = 0;
  while (bytes > MAX_NAME_BYTES) bytes -= Buffer.byteLength(characters[start++] ?? '');
  return characters.slice(start).join('');
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function mimeType(header: unknown): string | undefined {
  if (typeof header !== 'string') return undefined;
  const type = header.split(';')[0]?.trim().toLowerCase() ?? '';
  return /^[a-z0-9!#$&^_.+-]+\/[a-z0-9!#$&^_.+-]+$/.test(type) ? type : undefined;
}

function extensionOf(mime: string | undefined): string | undefined {
  return Object.entries(TYPES).find(([, type]) => type === mime)?.[0];
}
