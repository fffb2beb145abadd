import { readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { certificateFor } from '@footbridge/testkit/certificate';
import { createCleanup, tempDir } from '@footbridge/testkit/cleanup';
import { activate, connectMac } from '@footbridge/testkit/mac';
import { freePort } from '@footbridge/testkit/ports';
import { hasCaddy, startCaddy } from '@footbridge/testkit/servers/caddy';
import { hasNginx, startNginx } from '@footbridge/testkit/servers/nginx';
import { startService } from '@footbridge/testkit/service';
import type { Service } from '@footbridge/testkit/service';
import { Agent, request } from 'undici';
import { afterEach, describe, expect, it } from 'vitest';

const DOCKER = join(import.meta.dirname, '../../deploy/docker');
const cleanup = createCleanup();
afterEach(() => cleanup.run());

async function service(): Promise<Service> {
  const started = await startService({ env: { HOST: '127.0.0.1', TRUST_PROXY: '127.0.0.1' } });
  cleanup.add(() => started.stop());
  return started;
}

describe.skipIf(!(await hasCaddy()))('deploy/docker/Caddyfile', () => {
  it('lets a Mac and an upload of a megabyte through', async () => {
    const node = await service();
    const address = `127.0.0.1:${await freePort()}`;
    const caddy = await startCaddy(join(DOCKER, 'Caddyfile'), {
      BRIDGE_HOST: `http://${address}`,
      BRIDGE_UPSTREAM: new URL(node.url).host,
    });
    cleanup.add(() => caddy.stop());
    const url = `http://${address}`;
    const { key } = await node.license(1, 'proxy');
    const { deviceToken = '' } = await activate(url, { licenseKey: key });
    const mac = await connectMac(url, { token: deviceToken });
    cleanup.add(() => mac.terminate());
    expect(await mac.register('L')).toMatchObject({ type: 'registered' });
    const headers = { Authorization: `Bearer ${deviceToken}` };
    const { status } = await fetch(`${url}/mac/assets`, {
      method: 'POST',
      headers,
      body: new Uint8Array(1_000_000),
    });
    expect(status).toBe(201);
  });
});

describe.skipIf(!(await hasNginx()))('deploy/docker/nginx.conf', () => {
  it('terminates TLS, and uses the next node while one is down', async () => {
    const node = await service();
    const folder = await tempDir(cleanup);
    const { key, cert } = certificateFor('bridge.example.com');
    await writeFile(join(folder, 'fullchain.pem'), cert);
    await writeFile(join(folder, 'privkey.pem'), key);
    const absent = `127.0.0.1:${await freePort()}`;
    const nginx = await startNginx((address) =>
      readFileSync(join(DOCKER, 'nginx.conf'), 'utf8')
        .replace('listen 443 ssl', `listen ${address} ssl`)
        .replaceAll('/etc/nginx/certificates', folder)
        .replace('node1:4600', new URL(node.url).host)
        .replace('node2:4600', absent)
        .replace('node3:4600', absent),
    );
    cleanup.add(() => nginx.stop());
    const dispatcher = new Agent({ connect: { ca: cert, servername: 'bridge.example.com' } });
    cleanup.add(() => dispatcher.close());
    for (let attempt = 0; attempt < 3; attempt++) {
      const { statusCode } = await request(`${nginx.url.replace('http:', 'https:')}/health`, { dispatcher });
      expect(statusCode).toBe(200);
    }
  });
});
