/** The conversions from a format that some browser cannot show to one that every browser shows, and of a PNG to a new one. */
export type Conversion = 'heic' | 'apng' | 'apple-png' | 'tiff' | 'caf' | 'amr' | 'png';

export interface MediaType {
  /** The Content-Type to serve it with; never one that a browser would execute. */
  served: string;
  /** Extensions that are right for these bytes, the usual one first. */
  extensions: readonly [string, ...string[]];
  disposition: 'inline' | 'attachment';
  convert?: Conversion;
  /** A remark for the recipient of a file that is delivered unconverted. */
  note?: string;
}

const OPAQUE = 'application/octet-stream';

const inline = (served: string, ...extensions: [string, ...string[]]): MediaType => ({
  served,
  extensions,
  disposition: 'inline',
});
const attachment = (served: string, ...extensions: [string, ...string[]]): MediaType => ({
  served,
  extensions,
  disposition: 'attachment',
});
const converted = (convert: Conversion, served: string, ...extensions: [string, ...string[]]): MediaType => ({
  ...inline(served, ...extensions),
  convert,
});

/**
 * Every recognised type: its extensions, how it is served and how it is converted. Markup is recognised so that its
 * file gets the right extension, but it is served as opaque bytes: a browser would execute it.
 */
export const MEDIA_TYPES = {
  'image/png': inline('image/png', 'png'),
  'image/apng': converted('apng', 'image/png', 'png', 'apng'),
  'image/x-apple-png': converted('apple-png', 'image/png', 'png'),
  'image/jpeg': inline('image/jpeg', 'jpg', 'jpeg', 'jpe', 'jfif'),
  'image/gif': inline('image/gif', 'gif'),
  'image/webp': inline('image/webp', 'webp'),
  'image/avif': inline('image/avif', 'avif', 'avifs'),
  'image/heic': converted('heic', 'image/heic', 'heic', 'heif', 'hif'),
  'image/heic-sequence': converted('heic', 'image/heic-sequence', 'heics', 'heic', 'heifs', 'heif'),
  'image/tiff': converted('tiff', 'image/tiff', 'tiff', 'tif', 'dng'),
  'image/bmp': inline('image/bmp', 'bmp', 'dib'),

  'video/mp4': inline('video/mp4', 'mp4', 'm4v'),
  'video/quicktime': {
    ...inline('video/quicktime', 'mov', 'qt'),
    note: 'QuickTime video, delivered unconverted: some browsers download it instead of playing it',
  },
  'video/3gpp': inline('video/3gpp', '3gp', '3gpp', '3g2'),
  'video/webm': inline('video/webm', 'webm'),
  'video/ogg': inline('video/ogg', 'ogv', 'ogg'),

  'audio/mp4': inline('audio/mp4', 'm4a', 'm4b', 'mp4'),
  'audio/mpeg': inline('audio/mpeg', 'mp3'),
  'audio/wav': inline('audio/wav', 'wav', 'wave'),
  'audio/ogg': inline('audio/ogg', 'ogg', 'oga', 'opus'),
  'audio/aac': inline('audio/aac', 'aac'),
  'audio/flac': inline('audio/flac', 'flac'),
  'audio/aiff': inline('audio/aiff', 'aiff', 'aif', 'aifc'),
  'audio/x-caf': converted('caf', 'audio/x-caf', 'caf'),
  'audio/amr': converted('amr', 'audio/amr', 'amr'),
  'audio/amr-wb': converted('amr', 'audio/amr-wb', 'awb', 'amr'),

  'text/plain': inline('text/plain; charset=utf-8', 'txt', 'csv', 'tsv', 'log', 'md', 'json'),
  'text/vcard': attachment('text/vcard; charset=utf-8', 'vcf', 'vcard'),
  'text/calendar': attachment('text/calendar; charset=utf-8', 'ics'),
  'application/pdf': attachment('application/pdf', 'pdf'),
  'application/rtf': attachment('application/rtf', 'rtf'),
  'application/vnd.openxmlformats-officedocument.wordprocessingml.document': attachment(
    'application/vnd.openxmlformats-officedocument.wordprocessingml.document',
    'docx',
  ),
  'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet': attachment(
    'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet',
    'xlsx',
  ),
  'application/vnd.openxmlformats-officedocument.presentationml.presentation': attachment(
    'application/vnd.openxmlformats-officedocument.presentationml.presentation',
    'pptx',
  ),
  'application/vnd.oasis.opendocument.text': attachment('application/vnd.oasis.opendocument.text', 'odt'),
  'application/vnd.oasis.opendocument.spreadsheet': attachment(
    'application/vnd.oasis.opendocument.spreadsheet',
    'ods',
  ),
  'application/vnd.oasis.opendocument.presentation': attachment(
    'application/vnd.oasis.opendocument.presentation',
    'odp',
  ),
  'application/epub+zip': attachment('application/epub+zip', 'epub'),
  'application/zip': attachment('application/zip', 'zip', 'pages', 'numbers', 'key', 'pkpass', 'usdz'),
  'application/x-cfb': attachment(OPAQUE, 'doc', 'xls', 'ppt', 'msg'),
  'application/gzip': attachment('application/gzip', 'gz', 'tgz'),
  'application/x-7z-compressed': attachment('application/x-7z-compressed', '7z'),
  'application/vnd.rar': attachment('application/vnd.rar', 'rar'),

  'text/html': attachment(OPAQUE, 'html', 'htm', 'xhtml'),
  'image/svg+xml': attachment(OPAQUE, 'svg'),
  'application/xml': attachment(OPAQUE, 'xml'),
  'application/octet-stream': attachment(OPAQUE, 'bin'),
} as const satisfies Record<string, MediaType>;

export type MediaTypeName = keyof typeof MEDIA_TYPES;

const byName = new Map<string, MediaType>(Object.entries(MEDIA_TYPES));

/** Returns what is known about a type. An unknown type counts as opaque bytes. */
export const mediaType = (name: string): MediaType => byName.get(name) ?? MEDIA_TYPES[OPAQUE];
