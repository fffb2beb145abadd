import { deflateRaw, inflateRaw } from 'node:zlib';
import { promisify } from 'node:util';

import { z } from 'zod';

import type { TableShape } from '../sql/tables-at.ts';
import { LINE_FEED, linesIn } from './copy-text.ts';
import { damaged } from './sealed-file.ts';
import type { SealedReader, SealedWriter } from './sealed-file.ts';

const DATABASE = z.enum(['main', 'oauth']);
export type DatabaseName = z.infer<typeof DATABASE>;

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

const TABLE = z.object({ name: z.string(), columns: z.array(z.string()) });
const MANIFEST = z.object({
  manifest: z.object({
    databases: z.array(
      z.object({
        name: DATABASE,
        engine: z.enum(['sqlite', 'postgres']),
        migration: z.string(),
        tables: z.array(TABLE),
      }),
    ),
    files: z.record(z.string(), z.string()),
  }),
});
const RECORD = z.union([
  z.object({ rows: z.object({ database: DATABASE, table: z.string(), rows: z.number() }) }),
  z.object({ end: z.object({ rows: z.number() }) }),
]);

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

/** Reads the manifest; `rows` reads the rest. Throws BACKUP_DAMAGED. */
export async function readBackup(file: SealedReader): Promise<BackupReader> {
  const records = file.records();
  const first = await records.next();
  if (first.done === true) throw damaged();
  const { manifest } = (await decode(first.value, MANIFEST)).head;
  return {
    manifest,
    async *rows() {
      let total = 0;
      for await (const record of records) {
        const { head, text } = await decode(record, RECORD);
        if ('end' in head) {
          if (head.end.rows === total) return total;
          throw damaged();
        }
        const { rows, table, database } = head.rows;
        const shape = manifest.databases.find(({ name }) => name === database);
        if (shape?.tables.some(({ name }) => name === table) !== true || linesIn(text) !== rows)
          throw damaged();
        total += rows;
        yield { ...head.rows, text };
      }
      throw damaged();
    },
  };
}

async function decode<T>(record: Buffer, shape: z.ZodType<T>): Promise<{ head: T; text: Buffer }> {
  try {
    const plain = await decompress(record, { maxOutputLength: MAX_BYTES });
    const end = plain.indexOf(LINE_FEED);
    const head = shape.parse(JSON.parse(plain.subarray(0, end).toString('utf8')));
    return { head, text: plain.subarray(end + 1) };
  } catch (error) {
    throw damaged(error);
  }
}
