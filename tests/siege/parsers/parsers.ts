import { mkdtempSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';

import { fileNameOf, mimeOf } from '@footbridge/agent/edges/downloads/file-names';
import { readRequest } from '@footbridge/agent/flows/outbound/read-request';
import { stickerImage } from '@footbridge/agent/flows/outbound/sticker-image';
import type { JobDeps } from '@footbridge/agent/flows/outbound/job-deps';
import { readAudioDuration } from '@footbridge/agent/ports/messages/audio-duration';
import { linkIn } from '@footbridge/agent/ports/messages/link-in';
import { decodeBody } from '@footbridge/agent/ports/messages/message-body';
import { readSummaryInfo } from '@footbridge/agent/ports/messages/summary-info';
import { convertAmr } from '@footbridge/media/convert/amr';
import { convertApng } from '@footbridge/media/convert/apng';
import { convertApplePng } from '@footbridge/media/convert/apple-png';
import { convertCaf } from '@footbridge/media/convert/caf';
import { convertHeic } from '@footbridge/media/convert/heic';
import { isoBox, sequenceTrack } from '@footbridge/media/convert/iso-boxes';
import { OutputFile } from '@footbridge/media/convert/output-file';
import { convertPng } from '@footbridge/media/convert/png';
import { convertTiff } from '@footbridge/media/convert/tiff';
import { decodeFileName, safeFileName } from '@footbridge/media/file-name';
import { MEDIA_TYPES } from '@footbridge/media/media-types';
import { receiveReply } from '@footbridge/media/receive-reply';
import { sniff, SNIFF_BYTES } from '@footbridge/media/sniff';
import { decodeBase64 } from '@footbridge/protocol/base64';
import { parseBearerToken } from '@footbridge/protocol/bearer-token';
import { parseFooter } from '@footbridge/protocol/footer';
import { MAX_FRAME_BYTES, parseServiceFrame } from '@footbridge/protocol/frames';
import { readJson } from '@footbridge/protocol/read-json';
import { parseRetryAfter } from '@footbridge/protocol/retry-after';
import { parseTraceParent } from '@footbridge/protocol/traceparent';
import { messageOf, redactMessage } from '@footbridge/service/relay/crm/failed-response';
import { addressKey } from '@footbridge/service/platform/http/client-address';
import { contentDisposition } from '@footbridge/service/relay/assets/content-disposition';
import { parseBody } from '@footbridge/service/relay/webhook/webhook-route';
import { readMacFrame } from '@footbridge/service/relay/macs/receive-window';
import { composeMessage } from '@footbridge/service/relay/inbound/compose-message';
import { isSameText } from '@footbridge/service/relay/inbound/match-message';
import { optOutWord } from '@footbridge/service/features/opt-out/opt-out-word';
import { asReply, checkAttachments, checkType } from '@footbridge/service/relay/webhook/check-message';
import { createPhones } from '@footbridge/service/relay/people/handles';
import { pickFields, receivedNames } from '@footbridge/service/relay/webhook/webhook-request';

import { amr, caf, conversionReply, iso, ogg, picture, png, signatures, tiff, zip } from './files.ts';
import type { Make } from './make.ts';
import { propertyList, typedStream } from './stored.ts';
import { card, fileName, footers, frame, header, json, markup, messageText } from './texts.ts';

/** What one input may take: a fixed amount, and an amount for each of its bytes. */
interface Bound {
  readonly fixed: number;
  readonly perByte: number;
}

/** A function that reads bytes of strangers, and the inputs that it gets. */
export interface Parser {
  readonly name: string;
  /** In `service` and `agent` it runs in the process that serves others, in `converter` in a sandbox that is killed at its limits. */
  readonly process: 'service' | 'agent' | 'converter';
  /** Larger inputs do not reach it. */
  readonly maxSize: number;
  /** How often it is tried, compared with the others: the converters are slow. */
  readonly weight: number;
  readonly milliseconds: Bound;
  /** Allocated and not collected when it returns. */
  readonly bytes: Bound;
  /** Returns the work for one input and the number of its bytes. */
  readonly prepare: (make: Make) => { readonly size: number; readonly run: () => unknown };
}

const KIB = 1024;
const MIB = 1024 * KIB;

/** Linear, with the constants of a slow machine: a file of 64 KiB may take 24 ms, and 64 bytes for each of its bytes. */
const LINEAR = {
  milliseconds: { fixed: 8, perByte: 0.25 / KIB },
  bytes: { fixed: 768 * KIB, perByte: 64 },
} as const;
/** Decoders and encoders have tables of megabytes, and an image or a recording is larger than its file. */
const DECODED = {
  milliseconds: { fixed: 800, perByte: 0.01 },
  bytes: { fixed: 64 * MIB, perByte: 256 },
} as const;

type Options = Partial<Pick<Parser, 'maxSize' | 'weight' | 'milliseconds' | 'bytes'>>;

function reads<T extends string | Buffer>(
  process: Parser['process'],
  name: string,
  input: (make: Make) => T,
  read: (input: T) => unknown,
  options: Options = {},
): Parser {
  return {
    process,
    name,
    maxSize: MAX_FRAME_BYTES,
    weight: process === 'converter' ? 0.1 : 1,
    ...(process === 'converter' ? DECODED : LINEAR),
    ...options,
    prepare(make) {
      const content = input(make);
      return { size: Buffer.byteLength(content), run: () => read(content) };
    },
  };
}

const damaged = (make: Make, samples: readonly Buffer[]) => make.damaged(make.pick(samples), 1);
const samplesIn = (folder: string, ending: string) => {
  const url = new URL(`../../../packages/${folder}/`, import.meta.url);
  return readdirSync(url)
    .filter((name) => name.endsWith(ending))
    .map((name) => readFileSync(new URL(name, url)))
    .filter(({ length }) => length < 20_000);
};
const media = (ending: string) => samplesIn('media/src/fixtures', ending);
const either = (structure: (make: Make) => Buffer, samples: readonly Buffer[]) => (make: Make) =>
  make.chance(0.7) ? make.damaged(structure(make), 0.3) : damaged(make, samples);

const sniffs = (format: string, input: (make: Make) => Buffer) =>
  reads('service', `type of a file: ${format}`, input, sniff, { maxSize: 2 * SNIFF_BYTES });
const converts = (
  format: string,
  input: (make: Make) => Buffer,
  convert: (file: Buffer, output: OutputFile) => unknown,
  options?: Options,
) =>
  reads('converter', `conversion: ${format}`, input, (file) => convert(file, new OutputFile(() => {})), {
    maxSize: 128 * KIB,
    ...options,
  });

const phones = createPhones('US');
const folder = mkdtempSync(join(tmpdir(), 'parsers-'));
const file = join(folder, 'input');

function readDuration(bytes: Buffer): unknown {
  writeFileSync(file, bytes);
  return readAudioDuration(file);
}

/** Only what a sticker with bytes of its own uses: nothing is downloaded, and the pixels are for the converter. */
const stickerDeps = {
  scratch: { folder: async () => folder, write: async () => file, read: async () => Buffer.alloc(0) },
  images: { rewritePng: async () => ({ ok: true }) },
  workOn: () => {},
} as unknown as JobDeps;

function readWebhook(raw: Buffer): void {
  const body = parseBody(raw, 'application/json');
  if (typeof body === 'number') return;
  const fields = pickFields(body.json);
  checkType(fields, ['SMS']);
  checkAttachments(fields.attachments);
  if (fields.phone !== undefined) phones.forms(fields.phone);
  asReply(fields.message ?? null, fields.replyToAltId);
  receivedNames(body.json);
}

function readInbound(text: string): void {
  const parsed = readMacFrame(Buffer.from(text), text);
  if (parsed.kind !== 'frame' || parsed.frame.type !== 'message_received') return;
  const message = composeMessage(parsed.frame, true);
  parseFooter(message);
  optOutWord(parsed.frame.text);
  phones.forms(parsed.frame.sender);
}

function readText(text: string): void {
  parseFooter(text);
  optOutWord(text);
  linkIn(text);
  isSameText(text, `${text} `);
  redactMessage(text, [text]);
}

function readOutbound(text: string): void {
  const parsed = parseServiceFrame(text);
  if (parsed.kind === 'frame' && parsed.frame.type === 'send') readRequest(parsed.frame);
}

const URL_OF_FILE = new URL('https://files.example/a/b');
const TYPES = Object.keys(MEDIA_TYPES);

function readName(name: string): void {
  const decoded = decodeFileName(name);
  contentDisposition('attachment', safeFileName(decoded, TYPES[name.length % TYPES.length] ?? ''));
  fileNameOf(URL_OF_FILE, name, name);
  URL_OF_FILE.pathname = name.slice(0, 2048);
  fileNameOf(URL_OF_FILE, undefined, name);
  mimeOf(name, name);
}

function readHeader(value: string): void {
  parseTraceParent(value);
  parseRetryAfter(value, 0);
  parseBearerToken(value);
  decodeBase64(value);
  addressKey(value);
  parseBody(Buffer.from('{}'), value);
}

function readCrmError(text: string): void {
  redactMessage(messageOf(readJson(text)), [text.slice(0, 50_000), 'a token']);
}

/** The program of the child process may be an attacker's (T59). */
const receive = (bytes: Buffer) => receiveReply(Readable.from(partsOf(bytes), { objectMode: false }), file);

function* partsOf(bytes: Buffer): Generator<Buffer> {
  for (let at = 0; at < bytes.length; at += 4096) yield bytes.subarray(at, at + 4096);
}

const bodies = samplesIn('agent/fixtures/bodies', '.bin');
const vcard = (make: Make) => make.damaged(card(make), 0.2);
const summary = (make: Make): Buffer => make.damaged(propertyList(make));

/**
 * Every function of ours that reads bytes of strangers. Not here: HTTP and WebSocket frames, which Node and `ws` read and which
 * tests/siege/fuzz.ts sends over sockets. The service reads no multipart bodies, and nothing reads vCards beyond their first line.
 */
export const PARSERS: readonly Parser[] = [
  sniffs('zip', zip),
  sniffs('PNG and APNG', (make) => make.damaged(png(make), 0.3)),
  sniffs('TIFF', tiff),
  sniffs('HEIC, MPEG-4, QuickTime', (make) => make.damaged(iso(make), 0.3)),
  sniffs('CAF', caf),
  sniffs('AMR', amr),
  sniffs('Ogg', ogg),
  sniffs('vCard', vcard),
  sniffs('markup', markup),
  sniffs('signatures', signatures),
  reads('service', 'name of a file', fileName, readName, { maxSize: 16 * KIB }),
  reads('service', 'header', header, readHeader, { maxSize: 16 * KIB }),
  reads('service', 'webhook', (make) => Buffer.from(json(make)), readWebhook, { maxSize: MIB }),
  reads('service', 'frame of a Mac', (make) => frame(make, 'mac'), readInbound, {
    // A Mac may send them all the time.
    milliseconds: { fixed: 8, perByte: 0.05 / KIB },
  }),
  // Five functions, one of which cuts a text that resembles an error of the CRM into pieces of eight characters.
  reads('service', 'text of a message', messageText, readText, {
    milliseconds: { fixed: 8, perByte: 0.5 / KIB },
    bytes: { fixed: MIB, perByte: 256 },
  }),
  // A fragment of a footer has seven bytes.
  reads('service', 'footer', footers, parseFooter, { bytes: { fixed: 768 * KIB, perByte: 128 } }),
  reads('service', 'error of the CRM', (make) => json(make), readCrmError, { maxSize: MIB }),
  reads('service', 'reply of the converter', conversionReply, receive, {
    weight: 0.2,
    // Each part is written to the disk before the next is read, and their number is bounded (T59).
    milliseconds: { fixed: 1000, perByte: 0 },
    bytes: { fixed: 16 * MIB, perByte: 0 },
  }),
  reads('agent', 'frame of the service', (make) => frame(make, 'service'), readOutbound),
  reads('agent', 'body of a message: typedstream', either(typedStream, bodies), decodeBody, {
    maxSize: MIB,
    // Limited by CPU time, because the decoder is not ours.
    milliseconds: { fixed: 600, perByte: 0 },
    bytes: { fixed: 128 * MIB, perByte: 64 },
  }),
  reads('agent', 'summary of a message: bplist', summary, readSummaryInfo, {
    // A reference has two bytes, and two lists are read.
    bytes: { fixed: 768 * KIB, perByte: 192 },
  }),
  ...Object.entries({ CAF: caf, AMR: amr, 'MPEG-4': iso }).map(([format, structure]) =>
    reads(
      'agent',
      `duration of a recording: ${format}`,
      (make) => make.damaged(structure(make)),
      readDuration,
      { weight: 0.5 },
    ),
  ),
  reads(
    'agent',
    'sticker',
    (make) => make.damaged(picture(make)).toString('base64'),
    (bytes) => stickerImage({ from: 'bytes', bytes }, stickerDeps),
  ),
  reads(
    'converter',
    'boxes of HEIC',
    either(iso, media('.heics')),
    (bytes) => [isoBox(bytes, 'moov', 'trak'), sequenceTrack(bytes, 300)],
    {
      weight: 1,
      ...LINEAR,
    },
  ),
  converts('PNG', either(png, media('.png')), convertPng),
  converts('APNG', either(png, media('alpha.png')), convertApng),
  converts('PNG of Apple', either(png, media('apple.png')), convertApplePng),
  converts('TIFF', either(tiff, media('.tiff')), convertTiff),
  converts('CAF', either(caf, media('.caf')), convertCaf, { weight: 0.05 }),
  converts('AMR', either(amr, media('.amr')), convertAmr, { weight: 0.02 }),
  converts('HEIC', either(iso, [...media('.heic'), ...media('.heics')]), convertHeic, { weight: 0.004 }),
];
