import { createHash } from 'node:crypto';

const MAGIC_64 = 0xfeedfacf;
const EXECUTABLE = 2;
const ARCHITECTURES: Readonly<Record<number, string>> = { 0x0100000c: 'arm64', 0x01000007: 'x86_64' };
const LOAD_DYLIB = 0xc;
const CODE_SIGNATURE = 0x1d;
const BUILD_VERSION = 0x32;
const PLATFORM_MACOS = 1;

const SIGNATURE_MAGIC = 0xfade0cc0;
const CODE_DIRECTORY_MAGIC = 0xfade0c02;
const SHA256_TYPE = 2;
const FLAG_ADHOC = 0x2;

/** What macOS checks before it runs a program without a developer's certificate. */
export interface MachO {
  readonly architecture: string;
  /** For example `13.5`. */
  readonly minimumMacos: string;
  /** The libraries that it loads. */
  readonly libraries: readonly string[];
  readonly signature: AdHocSignature;
}

export interface AdHocSignature {
  readonly identifier: string;
  /** Identifies the program to macOS: permissions are granted to it. */
  readonly cdHash: string;
  readonly pages: number;
  /** The pages whose hash differs from the signed one. */
  readonly changedPages: readonly number[];
}

/** Reads a 64-bit executable for macOS. Throws when it is not one, or has no ad-hoc signature. */
export function readMachO(file: Buffer): MachO {
  if (file.length < 32 || file.readUInt32LE(0) !== MAGIC_64 || file.readUInt32LE(12) !== EXECUTABLE)
    throw new Error('not a 64-bit Mach-O executable');
  const architecture = ARCHITECTURES[file.readUInt32LE(4)];
  if (architecture === undefined) throw new Error('unknown architecture');
  const commands = loadCommands(file);
  const build = commands.find(({ type }) => type === BUILD_VERSION);
  if (build?.bytes.readUInt32LE(8) !== PLATFORM_MACOS) throw new Error('not built for macOS');
  const signature = commands.find(({ type }) => type === CODE_SIGNATURE);
  if (signature === undefined) throw new Error('not signed');
  const minimum = build.bytes.readUInt32LE(12);
  return {
    architecture,
    minimumMacos: `${minimum >>> 16}.${(minimum >>> 8) & 0xff}`,
    libraries: commands
      .filter(({ type }) => type === LOAD_DYLIB)
      .map(({ bytes }) => textAt(bytes, bytes.readUInt32LE(8))),
    signature: readSignature(file, signature.bytes.readUInt32LE(8)),
  };
}

function loadCommands(file: Buffer): { type: number; bytes: Buffer }[] {
  const commands: { type: number; bytes: Buffer }[] = [];
  let offset = 32;
  for (let index = file.readUInt32LE(16); index > 0; index--) {
    const size = file.readUInt32LE(offset + 4);
    commands.push({ type: file.readUInt32LE(offset), bytes: file.subarray(offset, offset + size) });
    offset += size;
  }
  return commands;
}

/** The signature is big-endian, unlike the rest of the file. */
function readSignature(file: Buffer, start: number): AdHocSignature {
  if (file.readUInt32BE(start) !== SIGNATURE_MAGIC) throw new Error('the signature cannot be read');
  const blobs = file.readUInt32BE(start + 8);
  for (let index = 0; index < blobs; index++) {
    const blob = file.subarray(start + file.readUInt32BE(start + 16 + index * 8));
    if (blob.readUInt32BE(0) === CODE_DIRECTORY_MAGIC) return readCodeDirectory(file, blob);
  }
  throw new Error('the signature has no code directory');
}

function readCodeDirectory(file: Buffer, blob: Buffer): AdHocSignature {
  const flags = blob.readUInt32BE(12);
  const hashOffset = blob.readUInt32BE(16);
  const pages = blob.readUInt32BE(28);
  const codeLimit = blob.readUInt32BE(32);
  const hashSize = blob.readUInt8(36);
  const pageSize = 1 << blob.readUInt8(39);
  if ((flags & FLAG_ADHOC) === 0 || blob.readUInt8(37) !== SHA256_TYPE)
    throw new Error('not an ad-hoc signature with SHA-256');
  const changedPages = Array.from({ length: pages }, (_, page) => page).filter((page) => {
    const bytes = file.subarray(page * pageSize, Math.min((page + 1) * pageSize, codeLimit));
    const signed = blob.subarray(hashOffset + page * hashSize, hashOffset + (page + 1) * hashSize);
    return !sha256(bytes).equals(signed);
  });
  return {
    identifier: textAt(blob, blob.readUInt32BE(20)),
    cdHash: sha256(blob.subarray(0, blob.readUInt32BE(4)))
      .subarray(0, 20)
      .toString('hex'),
    pages,
    changedPages,
  };
}

function sha256(bytes: Buffer): Buffer {
  return createHash('sha256').update(bytes).digest();
}

function textAt(bytes: Buffer, offset: number): string {
  return bytes.toString('utf8', offset, bytes.indexOf(0, offset));
}
