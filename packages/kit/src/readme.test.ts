import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import ed25519 from '../vectors/signatures-ed25519.json' with { type: 'json' };
import { verifyWebhook } from './kit.ts';

const { privateKeyPem, publicKeyPem } = ed25519.keys.seed;
const readme = await readFile(new URL('../README.md', import.meta.url), 'utf8');

/** The TypeScript of the page, each block with the heading it stands under and the lines it promises to print. */
const examples = readme.split(/^## /m).flatMap((section) => {
  const [heading = ''] = section.split('\n', 1);
  const blocks = Array.from(section.matchAll(/^```ts\n(.*?)^```/gms), ([, code = '']) => code);
  return blocks.map((code) => ({
    heading,
    code,
    prints: Array.from(code.matchAll(/\/\/ → (.*)$/gm), ([, line]) => line),
  }));
});

let directory = '';
let bridge: Server;
let url = '';

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'footbridge-'));
  await symlink(
    fileURLToPath(new URL('../../../node_modules', import.meta.url)),
    join(directory, 'node_modules'),
  );
  await writeFile(join(directory, 'package.json'), '{"type":"module"}');
  bridge = createServer((request, response) => {
    void (async () => {
      const body = await text(request);
      const { ok } = await verifyWebhook(body, request.headers, [
        { publicKey: publicKeyPem, scheme: 'Ed25519' },
      ]);
      const { locationId, messageId } = JSON.parse(body) as { locationId: string; messageId: string };
      response
        .writeHead(ok ? 200 : 401)
        .end(JSON.stringify({ status: 'success', requestId: 'r', locationId, messageId }));
    })();
  });
  bridge.listen(0, '127.0.0.1');
  await once(bridge, 'listening');
  url = `http://127.0.0.1:${(bridge.address() as AddressInfo).port}/crm/webhook`;
});

afterAll(async () => {
  bridge.closeAllConnections();
  await new Promise((resolve) => bridge.close(resolve));
  await rm(directory, { recursive: true });
});

describe('the README', () => {
  it('has an example for everything it offers', () => {
    expect(examples.length).toBeGreaterThanOrEqual(7);
    expect(examples.every(({ prints }) => prints.length > 0)).toBe(true);
  });

  it.each(examples)('prints what it says: $heading', async ({ code, prints }) => {
    const file = join(directory, `example-${examples.findIndex((example) => example.code === code)}.ts`);
    await writeFile(file, code);
    const child = spawn(process.execPath, [file], {
      env: { BRIDGE_URL: url, CRM_PRIVATE_KEY: privateKeyPem, CRM_PUBLIC_KEY: publicKeyPem },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const [printed, complaints, [exitCode]] = await Promise.all([
      text(child.stdout),
      text(child.stderr),
      once(child, 'exit'),
    ]);
    expect([complaints, exitCode]).toEqual(['', 0]);
    expect(printed.trimEnd().split('\n')).toEqual(prints);
  });
});
