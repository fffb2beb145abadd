import { randomBytes } from 'node:crypto';
import { readdir, stat } from 'node:fs/promises';
import { createServer, request as httpRequest } from 'node:http';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';

import { fileNameOf } from '@footbridge/agent/edges/downloads/file-names';
import { newRequestId } from '@footbridge/protocol/ids';
import type { Cleanup } from '@footbridge/testkit/cleanup';
import { closeHttp, listen } from '@footbridge/testkit/loopback';
import { Service } from '@footbridge/testkit/service';

import { hold, repeat } from './attacks.ts';
import type { Attack } from './attacks.ts';
import { ATTACKER, QUOTA_MB, startStage } from './stage.ts';
import type { Stage } from './stage.ts';

const MB = 1_000_000;

/** Sends a file in steps, without announcing its length. Resolves with the status of the response. */
function uploadSlowly(stage: Stage, cleanup: Cleanup, token: string, steps: number): Promise<number> {
  return new Promise((resolve) => {
    const headers = { Authorization: `Bearer ${token}` };
    const call = httpRequest(`${stage.service.url}/mac/assets`, { method: 'POST', headers, agent: false });
    cleanup.add(() => call.destroy());
    call.on('error', () => resolve(0));
    call.on('response', (answer) => resolve(answer.resume().statusCode ?? 0));
    void (async () => {
      for (let step = 0; step < steps && !call.destroyed; step++) {
        call.write(randomBytes(MB));
        await sleep(100);
      }
      call.end();
    })();
  });
}

/** The same server with compressed responses, whatever the client accepts. */
async function compressing(target: string, cleanup: Cleanup): Promise<string> {
  const server = createServer((request, response) => {
    const { method, headers, url = '' } = request;
    const call = httpRequest(new URL(url, target), { method: method ?? 'GET', headers }, (answer) => {
      const parts: Buffer[] = [];
      answer.on('data', (part: Buffer) => parts.push(part));
      answer.on('end', () => {
        const type = answer.headers['content-type'] ?? 'application/json';
        response.writeHead(answer.statusCode ?? 500, { 'Content-Type': type, 'Content-Encoding': 'gzip' });
        response.end(gzipSync(Buffer.concat(parts)));
      });
    });
    call.on('error', () => response.destroy());
    request.pipe(call);
  });
  cleanup.add(() => closeHttp(server));
  return `http://127.0.0.1:${await listen(server)}`;
}

async function filesOf(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  return entries.filter((entry) => entry.isFile()).map(({ parentPath, name }) => join(parentPath, name));
}

const NAMES = [
  'é'.repeat(300),
  `${'x'.repeat(199)}.${'y'.repeat(80)}`,
  '.ssh',
  '..',
  '\u202e.profile',
  '😀'.repeat(99),
];

/** The defects that need another service, or that show in something else than the webhooks of other tenants. */
export const DEFECTS: Readonly<Record<string, Attack>> = {
  '#6 Redis and SQLite without NODE_SECRET': async (_stage, cleanup) => {
    const service = new Service({ env: { REDIS_URL: 'redis://127.0.0.1:6379' }, readyWithin: 30_000 });
    cleanup.add(() => service.stop());
    const hasStarted = await service.start().then(
      () => true,
      () => false,
    );
    const isRejected = service.logs.some((line) => JSON.stringify(line).includes('NODE_SECRET is required'));
    return { verify: async () => (hasStarted || !isRejected ? 'the service started' : undefined) };
  },

  '#9 slow uploads beyond the quota': async (stage, cleanup) => {
    const { token } = await stage.device('mac-quota', 'locQuota');
    const files = Array.from({ length: 8 }, () => uploadSlowly(stage, cleanup, token, 4));
    return {
      async verify() {
        const stored = (await Promise.all(files)).filter((status) => status === 201).length * 4;
        return stored > QUOTA_MB ? `${stored} MB stored` : undefined;
      },
    };
  },

  '#10 50 uploads to an S3 bucket that does not respond': async (_stage, cleanup) => {
    const bucket = createServer((request) => request.resume());
    cleanup.add(() => closeHttp(bucket));
    const port = await listen(bucket);
    const stage = await startStage(cleanup, async () => ({
      ASSET_STORE: 's3',
      ASSET_S3_ENDPOINT: `http://127.0.0.1:${port}/files`,
      ASSET_S3_ACCESS_KEY_ID: 'siege',
      ASSET_S3_SECRET_ACCESS_KEY: randomBytes(16).toString('hex'),
      ASSET_QUOTA_MB: '1000',
    }));
    const { token } = await stage.device('mac-bucket', ATTACKER);
    const idle = await stage.memory();
    for (let file = 0; file < 50; file++) void uploadSlowly(stage, cleanup, token, 8);
    return { on: stage, idle };
  },

  '#11 a rotated encryption key': async (_stage, cleanup) => {
    const [older, newer] = [randomBytes(32).toString('hex'), randomBytes(32).toString('hex')];
    const stage = await startStage(cleanup, async () => ({ CRM_OAUTH_ENCRYPTION_KEY: older }));
    await stage.service.operator('PUT', '/operator/locations/locPrivate/private-token', {
      token: stage.crm.pit('locPrivate'),
    });
    await stage.service.restart({ CRM_OAUTH_ENCRYPTION_KEY: `${newer},${older}` });
    await stage.service.restart({ CRM_OAUTH_ENCRYPTION_KEY: newer });
    await stage.rejoin();
    return {
      on: stage,
      async verify() {
        const { body } = await stage.service.operator('GET', '/operator/grants');
        return JSON.stringify(body).includes('unreadable') ? 'a token is unreadable' : undefined;
      },
    };
  },

  '#12 requests that would lock out the operator': async (stage, cleanup) => {
    const url = `${stage.service.operatorUrl}/operator/locations`;
    const wrong = { Authorization: `Bearer ${randomBytes(24).toString('hex')}` };
    repeat(cleanup, 50, async () => (await fetch(url)).text());
    repeat(cleanup, 50, async () => (await fetch(url, { headers: wrong })).text());
    return {
      async verify() {
        const { status } = await stage.service.operator('GET', '/operator/locations');
        return status === 200 ? undefined : `the operator gets ${status}`;
      },
    };
  },

  '#13 files that other users of the machine can read': async (stage) => ({
    async verify() {
      const { dataDir } = stage.service;
      for (const path of [dataDir, ...(await filesOf(dataDir))])
        if (((await stat(path)).mode & 0o077) !== 0) return `${path} is readable`;
      return undefined;
    },
  }),

  '#14 a CRM that compresses its responses anyway': async (_stage, cleanup) => {
    const stage = await startStage(cleanup, async (crm) => ({
      CRM_HOSTNAME: await compressing(crm.url, cleanup),
    }));
    const { mac } = await stage.device('mac-compressed', ATTACKER);
    const seq = mac.received({ sender: '+14155550188', text: 'Hello' });
    return {
      on: stage,
      async verify() {
        const { outcome } = await mac.ack(seq);
        const posts = stage.crm.callsTo('inbound').length;
        return outcome === 'delivered' && posts === 1 ? undefined : `${outcome}, posted ${posts} times`;
      },
    };
  },

  '#15 statuses of requests that the Mac made up': async (stage) => {
    const { mac } = await stage.device('mac-made-up', ATTACKER);
    const messageId = stage.crm.newMessage(ATTACKER);
    const long = Date.now() - 600_000;
    const reports = Array.from({ length: 20 }, () =>
      mac.status({ requestId: newRequestId(long), messageId, status: 'delivered' }),
    );
    return {
      async verify() {
        for (const seq of reports) await mac.ack(seq);
        const calls = stage.crm.statusesOf(messageId).length;
        return calls > 1 ? `${calls} status calls` : undefined;
      },
    };
  },

  '#16 connections without a request': async (stage, cleanup) => {
    repeat(cleanup, 500, () => hold(stage, cleanup, 'GET / HTTP/1.1\r\nHost: '));
  },

  '#17 names of files on the Mac': async () => ({
    async verify() {
      const url = new URL('http://files.example/');
      const names = NAMES.map((name) =>
        fileNameOf(url, `attachment; filename*=utf-8''${encodeURIComponent(name)}`, 'image/png'),
      );
      const wrong = names.find(
        (name) => Buffer.byteLength(name) > 255 || name.startsWith('.') || name === '',
      );
      return wrong === undefined ? undefined : `a file is named ${wrong}`;
    },
  }),
};
