/** The kinds of files that people send each other; anything else is `application/octet-stream`. */
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

const MAX_NAME = 120;
const UNSPOKEN = 'application/octet-stream';

/** A name that is safe as a file's, from the header, else from the address; never a path, never hidden. */
export function fileNameOf(url: URL, disposition: unknown, contentType: unknown): string {
  const told = fromDisposition(disposition) ?? decoded(url.pathname.split('/').at(-1) ?? '');
  const name = safe(told) || 'attachment';
  if (/\.[A-Za-z0-9]{1,8}$/.test(name)) return name;
  const extension = extensionOf(mimeType(contentType));
  return extension === undefined ? name : `${name}.${extension}`;
}

export function mimeOf(name: string, contentType: unknown): string {
  const told = mimeType(contentType);
  if (told !== undefined && told !== UNSPOKEN && told !== 'binary/octet-stream') return told;
  return TYPES[name.split('.').at(-1)?.toLowerCase() ?? ''] ?? UNSPOKEN;
}

function fromDisposition(header: unknown): string | undefined {
  if (typeof header !== 'string' || header.length > 2000) return undefined;
  const encoded = /filename\*\s*=\s*utf-8''([^;\s]+)/i.exec(header)?.[1];
  if (encoded !== undefined) return decoded(encoded);
  return /filename\s*=\s*"([^"]*)"/i.exec(header)?.[1] ?? /filename\s*=\s*([^;\s]+)/i.exec(header)?.[1];
}

function safe(name: string): string {
  const last = name.split(/[/\\]/).at(-1) ?? '';
  const printable = last.replaceAll(/[\p{Cc}\p{Cf}:]/gu, '').replace(/^[.\s]+/, '');
  return printable.length <= MAX_NAME ? printable.trim() : printable.slice(-MAX_NAME).trim();
}

function decoded(text: string): string {
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
