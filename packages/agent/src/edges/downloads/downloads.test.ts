import { readFile, readdir } from 'node:fs/promises';
import { createServer as createSecureServer } from 'node:https';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { once } from 'node:events';

import { certificateFor } from '@footbridge/testkit/certificate';
import { tempDir, createCleanup } from '@footbridge/testkit/cleanup';
import { afterEach, describe, expect, it } from 'vitest';

import { serveFiles } from '@footbridge/testkit/file-server';
import { createDownloads } from './downloads.ts';

const cleanup = createCleanup();
afterEach(() => cleanup.run());

const LIMITS = { maxBytes: 1000, timeoutMs: 60_000 };
const open = createDownloads({ allowLoopback: true });

/** A server that counts connections. */
async function canary(host = '127.0.0.1', wanted = 0): Promise<{ port: number; connections: () => number }> {
  let connections = 0;
  const server = createServer((socket) => {
    connections += 1;
    socket.destroy();
  });
  server.listen(wanted, host);
  await once(server, 'listening');
  cleanup.add(async () => {
    server.close();
    await once(server, 'close');
  });
  const address = server.address();
  return {
    port: typeof address === 'object' && address !== null ? address.port : 0,
    connections: () => connections,
  };
}

describe('a download', () => {
  it('is saved with its bytes, name and MIME type', async () => {
    const folder = await tempDir(cleanup);
    const files = await serveFiles(cleanup, (_request, response) => {
      response.writeHead(200, { 'content-type': 'text/plain' }).end('hello');
    });
    const downloaded = await open.fetch(`${files.url}/a.txt`, folder, LIMITS);
    expect(downloaded).toMatchObject({ ok: true, file: { name: 'a.txt', mime: 'text/plain' } });
    if (downloaded.ok) expect(await readFile(downloaded.file.path, 'utf8')).toBe('hello');
  });

  it('follows at most three redirects', async () => {
    const folder = await tempDir(cleanup);
    const files = await serveFiles(cleanup, (request, response) => {
      const left = Number(request.url?.slice(1));
      if (left === 0) response.end('there');
      else response.writeHead(302, { location: `/${left - 1}` }).end();
    });
    expect(await open.fetch(`${files.url}/3`, folder, LIMITS)).toMatchObject({ ok: true });
    expect(await open.fetch(`${files.url}/4`, folder, LIMITS)).toMatchObject({ ok: false, reason: 'failed' });
  });

  it('stops at the size limit, with and without Content-Length, and leaves no file', async () => {
    const folder = await tempDir(cleanup);
    const files = await serveFiles(cleanup, (request, response) => {
      if (request.url === '/declared') response.writeHead(200, { 'content-length': 5000 });
      response.end(Buffer.alloc(5000));
    });
    for (const path of ['/declared', '/undeclared']) {
      expect(await open.fetch(files.url + path, folder, LIMITS)).toMatchObject({
        ok: false,
        reason: 'too-large',
      });
    }
    expect(await readdir(folder)).toEqual([]);
  });

  it('stops at the time limit, also when bytes trickle', async () => {
    const folder = await tempDir(cleanup);
    const files = await serveFiles(cleanup, (request, response) => {
      if (request.url === '/mute') return;
      const timer = setInterval(() => response.write('.'), 20);
      response.on('close', () => clearInterval(timer));
    });
    for (const path of ['/mute', '/drip']) {
      const limits = { ...LIMITS, timeoutMs: 150 };
      expect(await open.fetch(files.url + path, folder, limits)).toMatchObject({
        ok: false,
        reason: 'timeout',
      });
    }
  });

  it.each([204, 404, 500, 304])('status %s fails unless it is 2xx', async (status) => {
    const folder = await tempDir(cleanup);
    const files = await serveFiles(cleanup, (_request, response) => void response.writeHead(status).end());
    const downloaded = await open.fetch(`${files.url}/x`, folder, LIMITS);
    expect(downloaded.ok).toBe(status === 204);
  });

  it('rejects a compressed response, which could expand to gigabytes', async () => {
    const folder = await tempDir(cleanup);
    const files = await serveFiles(cleanup, (_request, response) => {
      response.writeHead(200, { 'content-encoding': 'gzip' }).end('x');
    });
    expect(await open.fetch(`${files.url}/x`, folder, LIMITS)).toMatchObject({ ok: false, reason: 'failed' });
  });
});

describe('over http', () => {
  it('W5 connects to a public host, as over https', async () => {
    const folder = await tempDir(cleanup);
    // No host has this address, so the connection fails or times out: it is attempted.
    const resolve = () => Promise.resolve(['2a00::1']);
    const downloads = createDownloads({ allowLoopback: false, resolve });
    for (const scheme of ['http', 'https']) {
      const limits = { ...LIMITS, timeoutMs: 50 };
      const downloaded = await downloads.fetch(`${scheme}://files.example/a.png`, folder, limits);
      expect(downloaded).toMatchObject({ ok: false, reason: expect.stringMatching(/^(failed|timeout)$/) });
    }
  });

  it('T13 no redirect from https is followed', async () => {
    const folder = await tempDir(cleanup);
    const plain = await serveFiles(cleanup, (_request, response) => void response.end('plain'));
    const certificate = certificateFor('files.example');
    const usual = getCACertificates();
    setDefaultCACertificates([...usual, certificate.cert]);
    cleanup.add(() => setDefaultCACertificates(usual));
    const secure = createSecureServer(certificate, (request, response) => {
      const location = request.url === '/down' ? plain.url : '/file';
      response.writeHead(request.url === '/file' ? 200 : 302, { location }).end('secure');
    });
    secure.listen(0, '127.0.0.1');
    await once(secure, 'listening');
    cleanup.add(async () => {
      secure.close();
      await once(secure, 'close');
    });
    const { port } = secure.address() as AddressInfo;
    const downloads = createDownloads({ allowLoopback: true, resolve: () => Promise.resolve(['127.0.0.1']) });
    const fetched = (path: string) => downloads.fetch(`https://files.example:${port}${path}`, folder, LIMITS);
    expect(await fetched('/same')).toMatchObject({ ok: true });
    expect(await fetched('/down')).toMatchObject({ ok: false, reason: 'forbidden' });
    expect(plain.visits).toEqual([]);
  });
});

describe('T13 a private address is never connected to', () => {
  const closed = createDownloads({ allowLoopback: false });

  it('by its number, in any notation', async () => {
    const folder = await tempDir(cleanup);
    const four = await canary();
    const spellings = [
      '127.0.0.1',
      '127.1',
      '2130706433',
      '0x7f000001',
      '017700000001',
      '127.0.0.1.',
      '0',
      '[::1]',
      '[::ffff:127.0.0.1]',
      '[::ffff:7f00:1]',
      '[0:0:0:0:0:0:0:1]',
      '[64:ff9b::7f00:1]',
      '①②⑦.⓪.⓪.①',
      'user@127.0.0.1',
    ];
    for (const host of spellings) {
      for (const scheme of ['https', 'http', 'ftp', 'file']) {
        const url = `${scheme}://${host}:${four.port}/x`;
        expect(await closed.fetch(url, folder, LIMITS), url).toMatchObject({
          ok: false,
          reason: 'forbidden',
        });
      }
    }
    expect(four.connections()).toBe(0);
  });

  it('by a name that resolves to it, alone or among public addresses', async () => {
    const folder = await tempDir(cleanup);
    const watch = await canary();
    for (const addresses of [
      ['127.0.0.1'],
      ['8.8.8.8', '127.0.0.1'],
      ['::1'],
      ['169.254.169.254'],
      ['fd00::1'],
    ]) {
      const downloads = createDownloads({ allowLoopback: false, resolve: () => Promise.resolve(addresses) });
      const url = `https://innocent.example.com:${watch.port}/x`;
      expect(await downloads.fetch(url, folder, LIMITS)).toMatchObject({ ok: false, reason: 'forbidden' });
    }
    expect(await closed.fetch(`https://localhost:${watch.port}/`, folder, LIMITS)).toMatchObject({
      reason: 'forbidden',
    });
    expect(watch.connections()).toBe(0);
  });

  it('by DNS rebinding: the name is resolved once', async () => {
    const folder = await tempDir(cleanup);
    const checked = await serveFiles(cleanup, (_request, response) => void response.end('checked'));
    const trap = await canary('127.0.0.2', checked.port);
    const answers = [['127.0.0.1'], ['127.0.0.2'], ['127.0.0.2']];
    let lookups = 0;
    const resolve = (): Promise<string[]> => {
      lookups += 1;
      return Promise.resolve(answers[lookups - 1] ?? []);
    };
    const rebinding = createDownloads({ allowLoopback: true, resolve });
    expect(
      await rebinding.fetch(`http://rebind.example.com:${checked.port}/x`, folder, LIMITS),
    ).toMatchObject({
      ok: true,
    });
    expect(lookups).toBe(1);
    expect(trap.connections()).toBe(0);
  });

  it('by a second lookup: the connection goes to the address that was checked', async () => {
    const folder = await tempDir(cleanup);
    const files = await serveFiles(cleanup, (_request, response) => void response.end('checked'));
    const downloads = createDownloads({ allowLoopback: true, resolve: () => Promise.resolve(['127.0.0.1']) });
    // This name does not resolve: only the pinned address can have responded.
    const url = `http://no-such-host.invalid:${files.port}/a.txt`;
    expect(await downloads.fetch(url, folder, LIMITS)).toMatchObject({ ok: true });
  });

  it('by a redirect', async () => {
    const folder = await tempDir(cleanup);
    const watch = await canary('127.0.0.2');
    const private4 = ['10.0.0.1', '192.168.1.1', '169.254.169.254', '[fd00::1]', '[::ffff:10.0.0.1]'];
    const targets = [
      ...private4.map((host) => `http://${host}/latest/meta-data`),
      ...private4.map((host) => `https://${host}/`),
      'file:///etc/passwd',
      'ftp://127.0.0.1/x',
      `https://user:secret@127.0.0.2:${watch.port}/`,
      'gopher://127.0.0.1:6379/_FLUSHALL',
    ];
    const files = await serveFiles(cleanup, (request, response) => {
      response.writeHead(302, { location: targets[Number(request.url?.slice(1))] }).end();
    });
    for (const [index, target] of targets.entries()) {
      const downloaded = await open.fetch(`${files.url}/${index}`, folder, LIMITS);
      expect(downloaded, target).toMatchObject({ ok: false, reason: 'forbidden' });
    }
    expect(watch.connections()).toBe(0);
  });

  it('when loopback is allowed, over http and https', async () => {
    const folder = await tempDir(cleanup);
    for (const url of [
      'http://10.0.0.1/x',
      'https://10.0.0.1/x',
      'http://192.168.0.1/',
      'https://[fe80::1]/',
    ]) {
      expect(await open.fetch(url, folder, LIMITS), url).toMatchObject({ ok: false, reason: 'forbidden' });
    }
  });
});
