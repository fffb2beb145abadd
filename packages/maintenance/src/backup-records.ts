import { deflateRaw, inflateRaw } from 'node:zlib';
import { promisify } from 'node:util';

import { checkAgainst, list, object } from '@footbridge/protocol/schema';
import type { FromSchema, Schema } from '@footbridge/protocol/schema';
import type { TableShape } from '@footbridge/service/platform/sql/tables-at';

import { LINE_FEED, linesIn } from './copy-text.ts';
import { damaged } from './sealed-file.ts';
import type { SealedReader, SealedWriter } from './sealed-file.ts';

const TEXT = { type: 'string' } as const;
const COUNT = { type: 'integer', minimum: 0 } as const;
const DATABASE = { type: 'string', enum: ['main', 'oauth'] } as const;
export type DatabaseName = FromSchema<typeof DATABASE>;

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

const MANIFEST = object({
  manifest: object({
    databases: list(
      object({
        name: DATABASE,
        engine: { type: 'string', enum: ['sqlite', 'postgres'] },
        migration: TEXT,
        tables: list(object({ name: TEXT, columns: list(TEXT) })),
      }),
    ),
    files: { type: 'object', additionalProperties: TEXT },
  }),
});
const RECORD = {
  anyOf: [
    object({ rows: object({ database: DATABASE, table: TEXT, rows: COUNT }) }),
    object({ end: object({ rows: COUNT }) }),
  ],
} as const;

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

async function decode<const S extends Schema>(
  record: Buffer,
  shape: S,
): Promise<{ head: FromSchema<S>; text: Buffer }> {
  try {
    const plain = await decompress(record, { maxOutputLength: MAX_BYTES });
    const end = plain.indexOf(LINE_FEED);
    const checked = checkAgainst(shape, JSON.parse(plain.subarray(0, end).toString('utf8')));
    if (!checked.ok) throw new Error(checked.reason);
    return { head: checked.value, text: plain.subarray(end + 1) };
  } catch (error) {
    throw damaged(error);
  }
}
