/** The ways the converter knows to turn what a Mac received into something every browser shows. */
export type Conversion = 'heic' | 'apng' | 'apple-png' | 'webp' | 'tiff' | 'caf' | 'amr';

export interface MediaType {
  /** The Content-Type we answer with: never one that a browser would run. */
  served: string;
  /** Endings that tell the truth about these bytes, the usual one first. */
  extensions: readonly [string, ...string[]];
  /** Whether a browser may show it in place, or must hand it over as a file. */
  disposition: 'inline' | 'attachment';
  convert?: Conversion;
  /** What the reader should know about a file that goes out as it came. */
  note?: string;
}

const OPAQUE = 'application/octet-stream';

const shown = (served: string, ...extensions: [string, ...string[]]): MediaType => ({
  served,
  extensions,
  disposition: 'inline',
});
const handedOver = (served: string, ...extensions: [string, ...string[]]): MediaType => ({
  served,
  extensions,
  disposition: 'attachment',
});
const converted = (convert: Conversion, served: string, ...extensions: [string, ...string[]]): MediaType => ({
  served,
  extensions,
  disposition: 'inline',
  convert,
});

/**
 * Every type the service recognises, and the only place that says how one is named, served and converted.
 * Markup is recognised so that it keeps an honest name, but leaves as opaque bytes: a browser would run it.
 */
export const MEDIA_TYPES = {
  'image/png': shown('image/png', 'png'),
  'image/apng': converted('apng', 'image/png', 'png', 'apng'),
  'image/x-apple-png': converted('apple-png', 'image/png', 'png'),
  'image/jpeg': shown('image/jpeg', 'jpg', 'jpeg', 'jpe', 'jfif'),
  'image/gif': shown('image/gif', 'gif'),
  'image/webp': converted('webp', 'image/webp', 'webp'),
  'image/avif': shown('image/avif', 'avif', 'avifs'),
  'image/heic': converted('heic', 'image/heic', 'heic', 'heif', 'hif'),
  'image/heic-sequence': converted('heic', 'image/heic-sequence', 'heics', 'heic', 'heifs', 'heif'),
  'image/tiff': converted('tiff', 'image/tiff', 'tiff', 'tif', 'dng'),
  'image/bmp': shown('image/bmp', 'bmp', 'dib'),

  'video/mp4': shown('video/mp4', 'mp4', 'm4v'),
  'video/quicktime': {
    ...shown('video/quicktime', 'mov', 'qt'),
    note: 'QuickTime video, delivered as recorded: some browsers download it instead of playing it',
  },
  'video/3gpp': shown('video/3gpp', '3gp', '3gpp', '3g2'),
  'video/webm': shown('video/webm', 'webm'),
  'video/ogg': shown('video/ogg', 'ogv', 'ogg'),

  'audio/mp4': shown('audio/mp4', 'm4a', 'm4b', 'mp4'),
  'audio/mpeg': shown('audio/mpeg', 'mp3'),
  'audio/wav': shown('audio/wav', 'wav', 'wave'),
  'audio/ogg': shown('audio/ogg', 'ogg', 'oga', 'opus'),
  'audio/aac': shown('audio/aac', 'aac'),
  'audio/flac': shown('audio/flac', 'flac'),
  'audio/aiff': shown('audio/aiff', 'aiff', 'aif', 'aifc'),
  'audio/x-caf': converted('caf', 'audio/x-caf', 'caf'),
  'audio/amr': converted('amr', 'audio/amr', 'amr'),
  'audio/amr-wb': converted('amr', 'audio/amr-wb', 'awb', 'amr'),

  'text/plain': shown('text/plain; charset=utf-8', 'txt', 'csv', 'tsv', 'log', 'md', 'json'),
  'text/vcard': handedOver('text/vcard; charset=utf-8', 'vcf', 'vcard'),
  'text/calendar': handedOver('text/calendar; charset=utf-8', 'ics'),
  'application/pdf': handedOver('application/pdf', 'pdf'),
  'application/rtf': handedOver('application/rtf', 'rtf'),
  'application/vnd.openxmlformats-officedocument.wordprocessingml.document': handedOver(
    'application/vnd.openxmlformats-officedocument.wordprocessingml.document',
    'docx',
  ),
  'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet': handedOver(
    'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet',
    'xlsx',
  ),
  'application/vnd.openxmlformats-officedocument.presentationml.presentation': handedOver(
    'application/vnd.openxmlformats-officedocument.presentationml.presentation',
    'pptx',
  ),
  'application/vnd.oasis.opendocument.text': handedOver('application/vnd.oasis.opendocument.text', 'odt'),
  'application/vnd.oasis.opendocument.spreadsheet': handedOver(
    'application/vnd.oasis.opendocument.spreadsheet',
    'ods',
  ),
  'application/vnd.oasis.opendocument.presentation': handedOver(
    'application/vnd.oasis.opendocument.presentation',
    'odp',
  ),
  'application/epub+zip': handedOver('application/epub+zip', 'epub'),
  'application/zip': handedOver('application/zip', 'zip', 'pages', 'numbers', 'key', 'pkpass', 'usdz'),
  'application/x-cfb': handedOver(OPAQUE, 'doc', 'xls', 'ppt', 'msg'),
  'application/gzip': handedOver('application/gzip', 'gz', 'tgz'),
  'application/x-7z-compressed': handedOver('application/x-7z-compressed', '7z'),
  'application/vnd.rar': handedOver('application/vnd.rar', 'rar'),

  'text/html': handedOver(OPAQUE, 'html', 'htm', 'xhtml'),
  'image/svg+xml': handedOver(OPAQUE, 'svg'),
  'application/xml': handedOver(OPAQUE, 'xml'),
  'application/octet-stream': handedOver(OPAQUE, 'bin'),
} as const satisfies Record<string, MediaType>;

export type MediaTypeName = keyof typeof MEDIA_TYPES;

const byName = new Map<string, MediaType>(Object.entries(MEDIA_TYPES));

/** What we know of a type by its name; a name from elsewhere counts as opaque bytes. */
export const mediaType = (name: string): MediaType => byName.get(name) ?? MEDIA_TYPES[OPAQUE];

export const isMediaTypeName = (name: string): name is MediaTypeName => byName.has(name);
