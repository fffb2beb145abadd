import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { join } from 'node:path';

import { createCleanup } from '@footbridge/testkit/cleanup';
import { closeHttp, listen } from '@footbridge/testkit/loopback';
import { findChromium, hasChromium } from '@footbridge/testkit/servers/chromium';
import { chromium } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { installKit } from './installed-kit.ts';

const cleanup = createCleanup();
afterAll(() => cleanup.run());

const TYPES: Readonly<Record<string, string>> = { js: 'text/javascript', json: 'application/json' };

/** Runs the signature and footer vectors. Returns the names of the vectors that fail. */
const RUN_VECTORS = `(async () => {
  const kit = await import('/esm/kit.js');
  const read = async (name) => (await fetch('/vectors/' + name)).json();
  const wrong = [];
  let ran = 0;
  const expect = (name, actual, expected) => {
    ran += 1;
    if (JSON.stringify(actual) !== JSON.stringify(expected)) wrong.push(name);
  };
  const ed25519 = await read('signatures-ed25519.json');
  const rsa = await read('signatures-rsa-sha256.json');
  for (const [file, scheme, header] of [[ed25519, 'Ed25519', 'X-CRM-Signature'], [rsa, 'RSA-SHA256', 'X-WH-Signature']]) {
    const keyOf = ({ key }) => file.key ?? file.keys[key];
    const verify = async (vector) => {
      const trusted = [{ publicKey: keyOf(vector).publicKeyPem, scheme }];
      return (await kit.verifyWebhook(vector.body, { [header]: vector.signature }, trusted)).ok;
    };
    for (const vector of file.valid) {
      const { headers } = await kit.signWebhook(vector.body, keyOf(vector).privateKeyPem);
      expect('sign: ' + vector.name, headers[header], vector.signature);
      expect('verify: ' + vector.name, await verify(vector), true);
    }
    for (const vector of file.invalid) expect('reject: ' + vector.name, await verify(vector), false);
  }
  for (const { name, message, text, metadata } of (await read('footers.json')).footers) {
    const found = kit.parseFooter(message);
    expect(name, [found.text, found.metadata], [text, metadata]);
  }
  return { wrong, ran };
})()`;

describe.skipIf(!(await hasChromium()))('the packed kit in Chromium', () => {
  let url = '';
  beforeAll(async () => {
    const kit = join(await installKit(cleanup), 'node_modules/@footbridge/kit');
    const server = createServer((request, response) => {
      const path = request.url ?? '/';
      if (path === '/') {
        response.writeHead(200, { 'Content-Type': 'text/html' }).end('<!doctype html><title>Kit</title>');
        return;
      }
      readFile(join(kit, path)).then(
        (file) => {
          const type = TYPES[path.split('.').at(-1) ?? ''] ?? 'application/octet-stream';
          response.writeHead(200, { 'Content-Type': type }).end(file);
        },
        () => response.writeHead(404).end(),
      );
    });
    url = `http://127.0.0.1:${await listen(server)}/`;
    cleanup.add(() => closeHttp(server));
  });

  it('is imported without a build step and passes the signature and footer vectors', async () => {
    const browser = await chromium.launch(await findChromium());
    cleanup.add(() => browser.close());
    const page = await browser.newPage();
    await page.goto(url);
    const { wrong, ran } = await page.evaluate<{ wrong: string[]; ran: number }>(RUN_VECTORS);
    expect(wrong).toEqual([]);
    expect(ran).toBeGreaterThan(80);
  });
});
