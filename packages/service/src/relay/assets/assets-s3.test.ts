import { once } from 'node:events';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { closeHttp, listen } from '@footbridge/testkit/loopback';
import { collectGarbage } from '@footbridge/testkit/collect-garbage';
import S3rver from '@20minutes/s3rver';
// As in the service: it replaces the dispatcher of the built-in fetch.
import 'undici';
import { describe, expect, it } from 'vitest';

import { openS3Assets } from './assets-s3.ts';
import { newAssetId } from './assets.ts';
import { assetsContract } from './assets.contract.ts';

const credentials = { region: 'us-east-1', accessKeyId: 'S3RVER', secretAccessKey: 'S3RVER' };

async function bucket() {
  const directory = await mkdtemp(join(tmpdir(), 'footbridge-'));
  const s3 = new S3rver({
    silent: true,
    directory,
    // The server omits the trailing slash of a listing's path when it checks the signature.
    allowMismatchedSignatures: true,
    configureBuckets: [{ name: 'files', configs: [] }],
  });
  await s3.configureBuckets();
  const handle = s3.callback();
  const server = createServer((request, response) => {
    // The server does not implement the abort of a multipart upload.
    const uploadId = /[?&]uploadId=([\w-]+)/.exec(request.url ?? '')?.[1];
    if (request.method !== 'DELETE' || uploadId === undefined) handle(request, response);
    else void removeUpload(directory, uploadId).then(() => response.writeHead(204).end());
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('not listening on a port');
  return {
    endpoint: `http://127.0.0.1:${address.port}/files`,
    directory,
    close: async () => {
      server.closeAllConnections();
      await promisify(server.close.bind(server))();
      await rm(directory, { recursive: true });
    },
  };
}

async function removeUpload(directory: string, uploadId: string) {
  for (const entry of await readdir(directory, { recursive: true, withFileTypes: true })) {
    if (entry.name === uploadId) await rm(join(entry.parentPath, entry.name), { recursive: true });
  }
}

assetsContract('S3', async () => {
  const { endpoint, directory, close } = await bucket();
  return {
    assets: await openS3Assets({ endpoint, spoolFolder: join(directory, 'spool'), ...credentials }),
    leftovers: async () =>
      (await readdir(directory, { recursive: true, withFileTypes: true })).filter((entry) => entry.isFile())
        .length,
    close,
  };
});

describe('the S3 asset store', () => {
  it('I8 rejects with EngineError when the bucket is unavailable, not with a missing file', async () => {
    const { endpoint, close } = await bucket();
    await close();
    const spoolFolder = await mkdtemp(join(tmpdir(), 'footbridge-'));
    const assets = await openS3Assets({ endpoint, spoolFolder, ...credentials });
    await expect(assets.open(newAssetId())).rejects.toThrow('cannot be accessed');
    await expect(assets.stat(newAssetId())).rejects.toThrow('cannot be accessed');
    await expect(assets.store(some(), 100)).rejects.toThrow('cannot be written');
    expect(await readdir(spoolFolder)).toEqual([]);
    await rm(spoolFolder, { recursive: true });
  });

  it('I8 rejects with EngineError when the bucket does not exist, not with a missing file', async () => {
    const { endpoint, directory, close } = await bucket();
    try {
      const assets = await openS3Assets({
        endpoint: `${endpoint}-other`,
        spoolFolder: join(directory, 'spool'),
        ...credentials,
      });
      await expect(assets.open(newAssetId())).rejects.toThrow('cannot be accessed');
      await expect(assets.store(some(), 100)).rejects.toThrow('cannot be written');
    } finally {
      await close();
    }
  });

  it('T53 ends the download of a part whose reader left before it began', async () => {
    const { promise: ended, resolve } = Promise.withResolvers<void>();
    const server = createServer((_request, response) => {
      response.on('close', resolve).writeHead(206, { 'Content-Length': 1_000_000 });
      response.write('the rest never comes');
    });
    const endpoint = `http://127.0.0.1:${await listen(server)}/files`;
    const spoolFolder = await mkdtemp(join(tmpdir(), 'footbridge-'));
    const assets = await openS3Assets({ endpoint, spoolFolder, ...credentials });
    const part = await assets.open(newAssetId(), { start: 5, length: 1_000_000 });
    part?.destroy();
    await ended;
    await closeHttp(server);
    await rm(spoolFolder, { recursive: true });
  });

  it('T53 keeps slow uploads on the disk, not in memory', async () => {
    const { endpoint, directory, close } = await bucket();
    const assets = await openS3Assets({ endpoint, spoolFolder: join(directory, 'spool'), ...credentials });
    const { promise: rest, resolve: sendRest } = Promise.withResolvers<void>();
    const { promise: sent, resolve: allSent } = Promise.withResolvers<void>();
    let slow = 0;
    async function* slowUpload() {
      for (let part = 0; part < 60; part++) yield Buffer.alloc(100_000);
      if (++slow === 30) allSent();
      await rest;
    }
    const before = usedBuffers();
    const uploads = Array.from({ length: 30 }, () => assets.store(slowUpload(), 100_000_000));
    await sent;
    expect(usedBuffers() - before).toBeLessThan(30_000_000);
    sendRest();
    for (const outcome of await Promise.all(uploads)) expect(outcome).toMatchObject({ size: 6_000_000 });
    await close();
  });
});

/** Bytes in buffers that are in use. */
function usedBuffers(): number {
  collectGarbage();
  return process.memoryUsage().arrayBuffers;
}

async function* some() {
  yield Buffer.alloc(10);
}
