import { mkdtemp, readdir, rm } from 'node:fs/promises';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import S3rver from '@20minutes/s3rver';
import { describe, expect, it } from 'vitest';

import { openS3Assets } from './assets-s3.ts';
import { newAssetId } from './assets.ts';
import { assetsContract } from './assets.contract.ts';

const credentials = { region: 'us-east-1', accessKeyId: 'S3RVER', secretAccessKey: 'S3RVER' };

async function bucket() {
  const directory = await mkdtemp(join(tmpdir(), 'footbridge-'));
  const server = new S3rver({
    port: 0,
    address: '127.0.0.1',
    silent: true,
    // It forgets the slash at the end of a listing's path when it checks the signature.
    allowMismatchedSignatures: true,
    directory,
    configureBuckets: [{ name: 'files', configs: [] }],
  });
  const { port }: AddressInfo = await server.run();
  return {
    endpoint: `http://127.0.0.1:${port}/files`,
    directory,
    close: async () => {
      await server.close();
      await rm(directory, { recursive: true });
    },
  };
}

assetsContract('S3', async () => {
  const { endpoint, directory, close } = await bucket();
  return {
    assets: openS3Assets({ endpoint, ...credentials }),
    leftovers: async () =>
      (await readdir(directory, { recursive: true })).filter((name) => name.includes('assets/')).length,
    close,
  };
});

describe('assets on S3', () => {
  it('I8 a bucket that is away is an error of its own, not a missing file', async () => {
    const { endpoint, close } = await bucket();
    await close();
    const assets = openS3Assets({ endpoint, ...credentials });
    await expect(assets.open(newAssetId())).rejects.toThrow('cannot be reached');
    await expect(assets.stat(newAssetId())).rejects.toThrow('cannot be reached');
    await expect(assets.store(some(), 100)).rejects.toThrow('could not be written');
  });

  it('I8 a bucket that does not exist is an error of its own, not a missing file', async () => {
    const { endpoint, close } = await bucket();
    try {
      const assets = openS3Assets({ endpoint: `${endpoint}-other`, ...credentials });
      await expect(assets.open(newAssetId())).rejects.toThrow('cannot be reached');
      await expect(assets.store(some(), 100)).rejects.toThrow('could not be written');
    } finally {
      await close();
    }
  });
});

async function* some() {
  yield Buffer.alloc(10);
}
