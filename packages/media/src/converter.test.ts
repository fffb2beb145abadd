import { execFile } from 'node:child_process';
import { createReadStream } from 'node:fs';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { deflateSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';

import { ATTACHMENT_PROGRAM } from './attachment-converter.ts';
import { Converter } from './converter.ts';
import type { ConversionResult, ConverterOptions } from './converter.ts';
import type { Conversion } from './media-types.ts';
import { RESTRICTS_NETWORK } from './sandbox.ts';
import { sniff } from './sniff.ts';
import { fixture } from './testing/images.ts';

const MIB = 1024 * 1024;
const MISBEHAVING = new URL('testing/misbehaving-program.ts', import.meta.url);
const IS_ROOT = process.getuid?.() === 0;
const STOPPED = { ok: false, reason: 'the service is stopping' };

describe('the converter', { timeout: 120_000 }, () => {
  let directory: string;
  let folder: string;
  let converter: Converter;
  let logged: object[];

  const open = async (options: Partial<ConverterOptions> = {}) => {
    const log = { warn: (fields: object) => logged.push(fields) };
    converter = await Converter.open(folder, log, { program: ATTACHMENT_PROGRAM, ...options });
  };
  /** Runs the misbehaving program; the returned function tells it what to do. */
  const misbehave = async (options: Partial<ConverterOptions> = {}) => {
    await open({ program: MISBEHAVING, ...options });
    return (behaviour: string, tenant?: string) => convertBytes('heic', Buffer.from(behaviour), tenant);
  };
  const convertBytes = (conversion: Conversion, bytes: Uint8Array, tenant = 'tenant') =>
    converter.convert(conversion, async () => Readable.from([bytes]), tenant);
  const convert = (conversion: Conversion, name: string) =>
    converter.convert(
      conversion,
      async () => createReadStream(new URL(`fixtures/${name}`, import.meta.url)),
      'tenant',
    );
  const files = () => readdir(folder, { recursive: true });

  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'footbridge-'));
    folder = join(directory, 'converter');
    logged = [];
  });
  afterEach(async () => {
    await converter.close();
    await rm(directory, { recursive: true });
  });

  it.each<[Conversion, string, string]>([
    ['heic', 'photo.heic', 'image/png'],
    ['heic', 'cutout.heic', 'image/png'],
    ['heic', 'animation.heics', 'image/gif'],
    ['apng', 'apng-3frames-alpha.png', 'image/gif'],
    ['apple-png', 'apple.png', 'image/png'],
    ['tiff', 'cutout.tiff', 'image/png'],
    ['png', 'photo.png', 'image/png'],
    ['caf', 'voice_opus.caf', 'audio/mpeg'],
    ['caf', 'voice_aac.caf', 'audio/mp4'],
    ['amr', 'voice.amr', 'audio/mpeg'],
  ])('I8 converts (%s) %s to %s', async (conversion, name, type) => {
    await open();
    const result = await convert(conversion, name);
    expect(result).toMatchObject({ ok: true, type });
    const bytes = await readFile(result.ok ? result.path : '');
    expect(sniff(bytes)).toBe(type);
    expect(await files()).toHaveLength(1);
  });

  it('I8 converts a photo of 48 megapixels to JPEG in bounded memory', async () => {
    await open({ timeoutMs: 110_000, memoryBytes: 200 * MIB });
    const result = await convert('heic', 'photo-48mp.heic');
    expect(result).toMatchObject({ ok: true, type: 'image/jpeg' });
    const bytes = await readFile(result.ok ? result.path : '');
    const frame = bytes.indexOf(Buffer.from([0xff, 0xc0]));
    expect([bytes.readUInt16BE(frame + 7), bytes.readUInt16BE(frame + 5)]).toEqual([8064, 6048]);
  });

  it.each<[string, Conversion, () => Uint8Array]>([
    ['a HEIC announced as 30000 × 30000', 'heic', () => fixture('bomb-grid.heic')],
    ['a PNG that inflates to 100 MB', 'apng', pngBomb],
    ['a TIFF that inflates to 100 MB', 'tiff', tiffBomb],
    ['a truncated HEIC', 'heic', () => fixture('photo.heic').subarray(0, 3000)],
    ['a truncated animation', 'heic', () => fixture('animation-only.heics').subarray(0, 5000)],
    ['a PNG declared as CAF', 'caf', () => fixture('photo.png')],
    ['an empty file', 'heic', () => new Uint8Array()],
    ['a TIFF without content', 'tiff', () => Buffer.from('II*\0nothing', 'latin1')],
  ])('I8 rejects %s with a reason and leaves no file', async (_, conversion, bytes) => {
    await open({ memoryBytes: 200 * MIB });
    expect(await convertBytes(conversion, bytes())).toEqual({ ok: false, reason: expect.any(String) });
    expect(await files()).toEqual([]);
    expect(logged).toEqual([]);
  });

  it('I8 rejects a file over the input limit before it is stored', async () => {
    await open();
    const zeros = Readable.from(
      (function* () {
        for (;;) yield Buffer.alloc(MIB);
      })(),
    );
    expect(await converter.convert('tiff', async () => zeros, 'tenant')).toEqual({
      ok: false,
      reason: 'the file is too large to convert',
    });
    expect(await files()).toEqual([]);
  });

  it.each([
    ['EIO', 'it could not be read'],
    ['ENOSPC', 'there is no room to convert it'],
  ])('I8 returns a reason when the source fails with %s', async (code, reason) => {
    await open();
    const failing = () => Promise.reject(Object.assign(new Error('failed'), { code }));
    expect(await converter.convert('heic', failing, 'tenant')).toEqual({ ok: false, reason });
  });

  it('T59 denies the process files, databases, sockets, processes, threads, signals and the environment', async () => {
    const tell = await misbehave();
    const server = createServer((socket) => socket.end()).listen(0, '127.0.0.1');
    await new Promise((resolve) => server.once('listening', resolve));
    const result = await tell(`probe ${(server.address() as AddressInfo).port}`);
    server.close();
    const denied = 'ERR_ACCESS_DENIED';
    expect(JSON.parse(result.ok ? '' : result.reason)).toEqual({
      readFile: denied,
      readEnvironment: denied,
      writeFile: denied,
      spawn: denied,
      worker: denied,
      // Documented: Node before 25 does not restrict the network.
      connect: RESTRICTS_NETWORK ? denied : 'allowed',
      database: 'ERR_UNKNOWN_BUILTIN_MODULE',
      signal: expect.stringContaining('is not a function'),
      debug: expect.stringContaining('is not a function'),
      slow: expect.stringContaining('is not a function'),
      user: IS_ROOT ? 65_520 : process.getuid?.(),
      environment: [],
    });
  });

  it('I8 kills a process that allocates without limit, and the service does not grow', async () => {
    const tell = await misbehave();
    const memory = watchMemory();
    expect(await tell('fill-memory')).toEqual({
      ok: false,
      reason: 'converting the file takes too much memory',
    });
    expect(memory.grownBy()).toBeLessThan(64 * MIB);
    expect(logged).toEqual([{ event: 'media.converter_killed', conversion: 'heic', cause: 'memory' }]);
  });

  it.each(['spin', 'part-of-a-header'])('I8 kills a process that hangs: %s', async (behaviour) => {
    const tell = await misbehave({ timeoutMs: 300 });
    expect(await tell(behaviour)).toEqual({ ok: false, reason: 'converting the file takes too long' });
    expect(logged).toEqual([{ event: 'media.converter_killed', conversion: 'heic', cause: 'timeout' }]);
  });

  it('I8 survives a process that runs out of its heap', async () => {
    const tell = await misbehave();
    expect(await tell('fill-heap')).toEqual({ ok: false, reason: 'the file could not be converted' });
    expect(logged).toMatchObject([{ event: 'media.converter_crashed', code: null }]);
  });

  it('I8 survives a process that exits', async () => {
    const tell = await misbehave();
    expect(await tell('exit')).toEqual({ ok: false, reason: 'the file could not be converted' });
    expect(logged).toEqual([{ event: 'media.converter_crashed', conversion: 'heic', code: 7, signal: null }]);
  });

  it.each([
    'malformed-type',
    'malformed-json',
    'malformed-kind',
    'malformed-length',
    'two-replies',
    'flood-junk',
    'flood-empty',
    'flood-small',
    'flood-large',
  ])('T59 stops a process that sends %s, and the service does not grow', async (behaviour) => {
    const tell = await misbehave();
    const memory = watchMemory();
    expect(await tell(behaviour)).toEqual({ ok: false, reason: 'the file could not be converted' });
    expect(memory.grownBy()).toBeLessThan(64 * MIB);
    expect(logged).toMatchObject([{ event: 'media.converter_killed', cause: 'malformed reply' }]);
    expect(await files()).toEqual([]);
  });

  it('T59 does not use a process again that writes without a request', async () => {
    const tell = await misbehave();
    const memory = watchMemory();
    const first = pidOf(await tell('flood-later'));
    expect(first).toBeGreaterThan(0);
    await sleep(500);
    expect(memory.grownBy()).toBeLessThan(64 * MIB);
    expect(pidOf(await tell('succeed'))).not.toBe(first);
    expect(isRunning(first)).toBe(false);
  });

  it('I8 reuses the process after a success', async () => {
    const tell = await misbehave();
    const first = await tell('succeed');
    expect(pidOf(first)).toBeGreaterThan(0);
    expect(pidOf(await tell('succeed'))).toBe(pidOf(first));
  });

  it.each(['fail', 'exit', 'malformed-type'])('I8 starts a new process after %s', async (behaviour) => {
    const tell = await misbehave();
    const before = pidOf(await tell('succeed'));
    expect((await tell(behaviour)).ok).toBe(false);
    const after = pidOf(await tell('succeed'));
    expect(after).not.toBe(before);
    expect(isRunning(before)).toBe(false);
    expect(isRunning(after)).toBe(true);
  });

  it('I8 stops an idle process and starts a new one for the next file', async () => {
    const tell = await misbehave({ idleMs: 100 });
    const before = pidOf(await tell('succeed'));
    expect(before).toBeGreaterThan(0);
    await vi.waitUntil(() => !isRunning(before), { timeout: 60_000 });
    expect(pidOf(await tell('succeed'))).not.toBe(before);
  });

  it('I8 returns a reason when the program does not start', async () => {
    const tell = await misbehave({ program: new URL('testing/missing-program.ts', import.meta.url) });
    expect(await tell('succeed')).toEqual({ ok: false, reason: 'the file could not be converted' });
    expect(logged).toMatchObject([{ event: 'media.converter_crashed', code: 1 }]);
  });

  it('I8 starts a new process when the idle one was killed', async () => {
    const tell = await misbehave();
    const before = pidOf(await tell('succeed'));
    process.kill(before, 'SIGKILL');
    await vi.waitUntil(() => !isRunning(before), { timeout: 60_000 });
    expect(pidOf(await tell('succeed'))).not.toBe(before);
    expect(logged).toEqual([]);
  });

  it('I8 stops the process when the service dies', async () => {
    const script = fileURLToPath(new URL('testing/abandoned-converter.ts', import.meta.url));
    const pid = await new Promise<number>((resolve) => {
      execFile(process.execPath, [script, folder], (_, stdout) => resolve(Number(stdout)));
    });
    await open();
    expect(pid).toBeGreaterThan(0);
    await vi.waitUntil(() => !isRunning(pid), { timeout: 60_000 });
  });

  it('I8 converts the waiting files one after the other', async () => {
    const tell = await misbehave();
    const results = await Promise.all(['a', 'b', 'c', 'd'].map((name) => tell(name)));
    const contents = results.map((result) => readFile(result.ok ? result.path : '', 'utf8'));
    expect(await Promise.all(contents)).toEqual(['a', 'b', 'c', 'd']);
    expect(new Set(results.map(pidOf)).size).toBe(1);
    expect(converter.load).toEqual({ running: 0, waiting: 0 });
  });

  it('I8 returns a reason when no slot becomes free in time', async () => {
    const tell = await misbehave({ queueTimeoutMs: 100 });
    const first = tell('spin');
    await vi.waitUntil(() => converter.load.running === 1, { timeout: 60_000 });
    expect(await tell('succeed')).toEqual({
      ok: false,
      reason: 'too many files are waiting to be converted',
    });
    expect(logged).toEqual([{ event: 'media.queue_timeout', running: 1, waiting: 0 }]);
    await converter.close();
    expect(await first).toEqual(STOPPED);
  });

  it('T52 converts the file of one tenant while those of another take their time', async () => {
    const tell = await misbehave();
    const slow = Array.from({ length: 5 }, () => tell('spin', 'slow tenant'));
    await vi.waitUntil(() => converter.load.waiting === 4, { timeout: 60_000 });
    expect(await tell('succeed', 'other tenant')).toMatchObject({ ok: true });
    await converter.close();
    expect(await Promise.all(slow)).toEqual(slow.map(() => STOPPED));
  });

  it('T52 lets a bounded number of files of one tenant wait', async () => {
    const tell = await misbehave({ maxWaitingPerTenant: 2 });
    const slow = Array.from({ length: 3 }, () => tell('spin'));
    await vi.waitUntil(() => converter.load.waiting === 2, { timeout: 60_000 });
    const reason = 'too many files are waiting to be converted';
    expect(await tell('succeed')).toEqual({ ok: false, reason });
    expect(await tell('succeed', 'other tenant')).toMatchObject({ ok: true });
    await converter.close();
    await Promise.all(slow);
  });

  it('I8 stops running and waiting conversions when it is closed', async () => {
    const tell = await misbehave();
    const results = [tell('spin'), tell('spin')];
    await vi.waitUntil(() => converter.load.waiting === 1, { timeout: 60_000 });
    await converter.close();
    expect(await Promise.all(results)).toEqual([STOPPED, STOPPED]);
    expect(await tell('succeed')).toEqual(STOPPED);
    expect(await files()).toEqual([]);
  });

  it('I8 does not let twenty conversions grow the service', async () => {
    await open({ queueTimeoutMs: 120_000, maxWaitingPerTenant: 20 });
    const names = ['photo.heic', 'cutout.heic', 'animation.heics', 'pattern-turned.heic', 'pattern-p3.heic'];
    const memory = watchMemory();
    const results = await Promise.all(
      Array.from({ length: 20 }, (_, index) => convert('heic', names[index % names.length] ?? '')),
    );
    expect(results.every(({ ok }) => ok)).toBe(true);
    expect(memory.grownBy()).toBeLessThan(64 * MIB);
  });
});

const pidOf = (result: ConversionResult) => Number(result.ok && result.note);

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

function watchMemory(): { grownBy: () => number } {
  const before = process.memoryUsage.rss();
  let most = before;
  const timer = setInterval(() => {
    most = Math.max(most, process.memoryUsage.rss());
  }, 5);
  return {
    grownBy: () => {
      clearInterval(timer);
      return most - before;
    },
  };
}

/** A hundred kilobytes that inflate to a hundred megabytes. */
const zeros = () => deflateSync(Buffer.alloc(100 * MIB));

function pngBomb(): Buffer {
  const data = zeros();
  const file = Buffer.from(fixture('apng-3frames-alpha.png'));
  const at = file.indexOf('IDAT') - 4;
  const end = at + 12 + file.readUInt32BE(at);
  const length = Buffer.alloc(4);
  length.writeUInt32BE(data.length);
  return Buffer.concat([
    file.subarray(0, at),
    length,
    Buffer.from('IDAT'),
    data,
    Buffer.alloc(4),
    file.subarray(end),
  ]);
}

/** A small TIFF whose strip is replaced by a large one at the end of the file. */
function tiffBomb(): Buffer {
  const data = zeros();
  const file = Buffer.concat([fixture('pattern.tiff'), data]);
  const entries = file.readUInt32LE(4);
  for (let at = entries + 2; at < entries + 2 + file.readUInt16LE(entries) * 12; at += 12) {
    const tag = file.readUInt16LE(at);
    if (tag === 273) file.writeUInt32LE(file.length - data.length, at + 8);
    if (tag === 279) file.writeUInt32LE(data.length, at + 8);
    if (tag === 273 || tag === 279) {
      file.writeUInt16LE(4, at + 2);
      file.writeUInt32LE(1, at + 4);
    }
    if (tag === 278) file.writeUInt16LE(100, at + 8);
  }
  return file;
}
