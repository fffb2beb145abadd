import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { withNodeFirst } from '../../../scripts/other-node.ts';
import { packKit } from '../../../scripts/pack-kit.ts';
import ed25519 from '../vectors/signatures-ed25519.json' with { type: 'json' };
import { verifyWebhook } from './kit.ts';

const { privateKeyPem, publicKeyPem } = ed25519.keys.seed;
const readme = await readFile(new URL('../README.md', import.meta.url), 'utf8');

/** The TypeScript blocks of the README, with their heading and their expected output. */
const examples = readme.split(/^## /m).flatMap((section) => {
  const [heading = ''] = section.split('\n', 1);
  const blocks = Array.from(section.matchAll(/^```ts\n(.*?)^```/gms), ([, code = '']) => code);
  return blocks.map((code) => ({
    heading,
    code,
    prints: Array.from(code.matchAll(/\/\/ → (.*)$/gm), ([, line]) => line),
  }));
});

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));

let directory = '';
let bridge: Server;
let url = '';

/** Two consumer projects: one imports the kit's sources, the other the packed kit. */
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'footbridge-'));
  const sources = await project('sources');
  await symlink(join(ROOT, 'node_modules'), join(sources, 'node_modules'));
  const packed = await project('packed');
  await packKit(join(packed, 'node_modules/@footbridge/kit'));
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

async function project(name: string): Promise<string> {
  const folder = join(directory, name);
  await mkdir(folder);
  await writeFile(join(folder, 'package.json'), '{"type":"module"}');
  for (const [index, { code }] of examples.entries())
    await writeFile(join(folder, `example-${index}.ts`), code);
  return folder;
}

describe('the README', () => {
  it('has commands that install the kit in a new project', async () => {
    const commands = Array.from(readme.matchAll(/^```bash\n(.*?)^```/gms), ([, code = '']) => code);
    expect(commands.length).toBe(1);
    const child = spawn('sh', ['-e', '-c', commands.join('\n')], {
      cwd: ROOT,
      env: { ...withNodeFirst(process.execPath), HOME: directory, npm_config_offline: 'true' },
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    const [errors, [exitCode]] = await Promise.all([text(child.stderr), once(child, 'exit')]);
    expect([errors, exitCode]).toEqual([expect.any(String), 0]);
    const installed = join(directory, 'my-crm/node_modules/@footbridge/kit/package.json');
    expect(JSON.parse(await readFile(installed, 'utf8'))).toMatchObject({ name: '@footbridge/kit' });
  });

  it('has only code blocks that a test runs', () => {
    const kinds = Array.from(readme.matchAll(/^```(\w*)\n.*?^```/gms), ([, kind]) => kind);
    expect(new Set(kinds)).toEqual(new Set(['bash', 'ts', 'python', 'php']));
  });

  it('has at least seven examples, each with its expected output', () => {
    expect(examples.length).toBeGreaterThanOrEqual(7);
    expect(examples.every(({ prints }) => prints.length > 0)).toBe(true);
  });

  describe.each(['sources', 'packed'])('with the %s', (name) => {
    it.each(examples.map(({ heading, prints }, index) => ({ heading, prints, index })))(
      'the example prints the documented output: $heading',
      async ({ prints, index }) => {
        const child = spawn(process.execPath, [join(directory, name, `example-${index}.ts`)], {
          env: { BRIDGE_URL: url, CRM_PRIVATE_KEY: privateKeyPem, CRM_PUBLIC_KEY: publicKeyPem },
          stdio: ['ignore', 'pipe', 'pipe'],
        });
        const [printed, errors, [exitCode]] = await Promise.all([
          text(child.stdout),
          text(child.stderr),
          once(child, 'exit'),
        ]);
        expect([errors, exitCode]).toEqual(['', 0]);
        expect(printed.trimEnd().split('\n')).toEqual(prints);
      },
    );
  });
});
