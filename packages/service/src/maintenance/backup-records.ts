import { deflateRaw, inflateRaw } from 'node:zlib';
import { promisify } from 'node:util';

import { LINE_FEED, linesIn } from './copy-text.ts';
import { damaged } from './sealed-file.ts';
import type { SealedReader, SealedWriter } from './sealed-file.ts';
import type { TableShape } from '../sql/tables-at.ts';

export type DatabaseName = 'main' | 'oauth';

/** The first record: everything that a restore needs before it reads rows. */
export interface Manifest {
  readonly databases: readonly {
    readonly name: DatabaseName;
    readonly engine: 'sqlite' | 'postgres';
    /** The last applied migration. */
    readonly migration: string;
    readonly tables: readonly TableShape[];
  }[];
  /** Secret files of the data folder, by name. */
  readonly files: Readonly<Record<string, string>>;
}

export interface RowsRecord {
  readonly database: DatabaseName;
  readonly table: string;
  readonly rows: number;
  readonly text: Buffer;
}

const compress = promisify(deflateRaw);
const decompress = promisify<Buffer, { maxOutputLength: number }, Buffer>(inflateRaw);
const MAX_BYTES = 1024 * 1024 * 1024;

/** Encodes a record: a line of JSON and rows in the text format of COPY, compressed. */
const encode = (head: object, text: Buffer = Buffer.alloc(0)) =>
  compress(Buffer.concat([Buffer.from(`${JSON.stringify(head)}\n`), text]), { level: 1 });

export const writeManifest = async (file: SealedWriter, manifest: Manifest): Promise<void> =>
  await file.append(await encode({ manifest }));

export const writeRows = async (file: SealedWriter, { text, ...rows }: RowsRecord): Promise<void> =>
  await file.append(await encode({ rows }, text));

export const writeEnd = async (file: SealedWriter, rows: number): Promise<void> =>
  await file.append(await encode({ end: { rows } }), { last: true });

export interface BackupReader {
  readonly manifest: Manifest;
  /** Yields the rows, and returns their total number at the end. Throws BACKUP_DAMAGED. */
  rows(): AsyncGenerator<RowsRecord, number>;
}

/** Reads the manifest; `rows` reads the rest. The key authenticates the content, so its shape is trusted. */
export async function readBackup(file: SealedReader): Promise<BackupReader> {
  const records = file.records();
  const first = await records.next();
  if (first.done === true) throw damaged();
  const { manifest } = (await decode(first.value)).head as { manifest?: Manifest };
  if (manifest === undefined) throw damaged();
  return {
    manifest,
    async *rows() {
      let total = 0;
      for await (const record of records) {
        const { head, text } = await decode(record);
        const { rows, end } = head as { rows?: Omit<RowsRecord, 'text'>; end?: { rows: number } };
        if (end !== undefined && end.rows === total) return total;
        if (rows === undefined || linesIn(text) !== rows.rows) throw damaged();
        total += rows.rows;
        yield { ...rows, text };
      }
      throw damaged();
    },
  };
}

async function decode(record: Buffer): Promise<{ head: object; text: Buffer }> {
  const plain = await decompress(record, { maxOutputLength: MAX_BYTES });
  const end = plain.indexOf(LINE_FEED);
  return {
    head: JSON.parse(plain.subarray(0, end).toString('utf8')) as object,
    text: plain.subarray(end + 1),
  };
}
