import { spawn, spawnSync } from 'node:child_process';
import { cpSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { text } from 'node:stream/consumers';

import { issueToken } from '@footbridge/kit';
import { Child } from '@footbridge/testkit/child';
import { createCleanup } from '@footbridge/testkit/cleanup';
import { ed25519Key } from '@footbridge/testkit/keys';
import { joinMac } from '@footbridge/testkit/mac';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { startBridge } from '../bridge.ts';
import { installKit } from './installed-kit.ts';
import { N8nHost } from './n8n-host.ts';
import type { Workflow } from './n8n-host.ts';

const TEMPLATES = join(import.meta.dirname, '../../packages/kit/templates');
const { resolve } = createRequire(import.meta.url);
const LOCATION = 'locTEMPLATE1';
const PHONE = '+14155550100';
const INBOUND = '/conversations/messages/inbound';
const SETTINGS = {
  CRM_OAUTH_CLIENT_ID: 'my-crm',
  CRM_OAUTH_CLIENT_SECRET: 'a-client-secret-of-32-characters',
};
const KEY = ed25519Key('templates');

/** Serves the handlers of Next.js and of Cloudflare Workers, which receive a standard Request and return a Response. */
const HOST = `
import { createServer } from 'node:http';
import { buffer } from 'node:stream/consumers';
const { default: worker, ...route } = await import(process.argv[2]);
const handle = worker ? (request) => worker.fetch(request, process.env) : (request) => route[request.method](request);
const server = createServer(async (incoming, response) => {
  const { method, url, headers } = incoming;
  const body = method === 'GET' ? undefined : await buffer(incoming);
  const answer = await handle(new Request('http://localhost' + url, { method, headers, body }));
  response.writeHead(answer.status, Object.fromEntries(answer.headers)).end(await answer.text());
});
server.listen(0, '127.0.0.1', () => console.log('Listening on port ' + server.address().port));
`;

const cleanup = createCleanup();
afterAll(() => cleanup.run());

let project = '';
beforeAll(async () => {
  project = await installKit(cleanup);
  // As an integrator would: copy the templates out of the package, and install the framework.
  cpSync(join(project, 'node_modules/@footbridge/kit/templates'), project, { recursive: true });
  for (const framework of ['express', 'fastify'])
    symlinkSync(dirname(resolve(`${framework}/package.json`)), join(project, 'node_modules', framework));
  writeFileSync(join(project, 'host.mjs'), HOST);
});

/** A running template: the address for CRM_HOSTNAME, and how it sends. */
interface Receiver {
  readonly url: string;
  send(message: object, bridgeUrl: string, privateKey: string): Promise<string>;
}

async function startProgram(...args: string[]): Promise<Receiver> {
  const { url } = await startChild(args, SETTINGS);
  return { url, send: sendWithProgram };
}

async function startChild(args: readonly string[], env: Record<string, string>) {
  const child = new Child(process.execPath, args, { cwd: project, env: { ...env, PORT: '0' } });
  cleanup.add(() => child.end());
  const port = await child.line((line) => /^Listening on port (\d+)$/.exec(line)?.[1], 60_000, 'it listens');
  return { child, url: `http://127.0.0.1:${port}` };
}

/** Not `spawnSync`: the bridge runs in this process. */
async function sendWithProgram(message: object, bridgeUrl: string, privateKey: string): Promise<string> {
  const program = spawn(process.execPath, ['send.mjs'], {
    cwd: project,
    env: { BRIDGE_URL: bridgeUrl, CRM_PRIVATE_KEY: privateKey },
  });
  program.stdin.end(JSON.stringify(message));
  const [printed, errors] = await Promise.all([text(program.stdout), text(program.stderr)]);
  return printed + errors;
}

async function startN8n(): Promise<Receiver> {
  const workflow = JSON.parse(readFileSync(join(project, 'n8n.json'), 'utf8')) as Workflow;
  const host = new N8nHost(workflow, project, SETTINGS);
  await host.start();
  cleanup.add(() => host.stop());
  return {
    url: host.url,
    async send(message, bridgeUrl, privateKey) {
      const env = { BRIDGE_URL: bridgeUrl, CRM_PRIVATE_KEY: privateKey };
      const [sent] = await host.runCode('Send', [{ json: { ...message } }], env);
      return sent?.json['ok'] === true ? 'Forwarded' : String(sent?.json['code']);
    },
  };
}

describe.each([
  ['node', () => startProgram('node.mjs')],
  ['express', () => startProgram('express.mjs')],
  ['fastify', () => startProgram('fastify.mjs')],
  ['nextjs-route', () => startProgram('host.mjs', './nextjs-route.mjs')],
  ['cloudflare-worker', () => startProgram('host.mjs', './cloudflare-worker.mjs')],
  ['n8n', startN8n],
])('the template %s', (_, start) => {
  let receiver: Receiver;
  let token = '';
  beforeAll(async () => {
    receiver = await start();
    token = await issueToken('access', LOCATION, SETTINGS.CRM_OAUTH_CLIENT_SECRET);
  });

  async function call(method: string, path: string, body?: unknown, headers: Record<string, string> = {}) {
    const response = await fetch(receiver.url + path, {
      method,
      headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json', ...headers },
      ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    });
    return { status: response.status, text: await response.text() };
  }

  it('works as the CRM of a real bridge: connects a location, receives a message and a status, sends a text', async () => {
    const bridge = await startBridge({
      ...SETTINGS,
      CRM_HOSTNAME: receiver.url,
      CRM_PUBLIC_KEY: KEY.publicKey,
      CRM_OAUTH_ENABLED: 'true',
      CRM_OAUTH_TOKEN_URL: `${receiver.url}/oauth/token`,
      CRM_OAUTH_ENCRYPTION_KEY: '0'.repeat(64),
      CRM_OAUTH_REFRESH_THRESHOLD_SEC: '300',
    });
    cleanup.add(() => bridge.stop());
    const installed = spawnSync(process.execPath, ['install.mjs', LOCATION], {
      cwd: project,
      env: { ...SETTINGS, BRIDGE_URL: bridge.url },
      encoding: 'utf8',
    });
    expect(installed.stderr).toBe('');
    const callback = await fetch(installed.stdout.trim());
    expect([callback.status, await callback.json()]).toMatchObject([200, { locationId: LOCATION }]);

    const license = await fetch(`${bridge.operatorUrl}/operator/licenses`, {
      method: 'POST',
      headers: { Authorization: `Bearer ${bridge.operatorToken}`, 'Content-Type': 'application/json' },
      body: '{"label":"Test","maxSeats":1}',
    });
    const { key: licenseKey } = (await license.json()) as { key: string };
    const mac = await joinMac(bridge.url, { licenseKey, locationId: LOCATION });
    cleanup.add(() => mac.terminate());
    for (const written of ['Hi', 'Again']) {
      const seq = mac.received({ sender: PHONE, text: written });
      expect(await mac.ack(seq)).toMatchObject({ outcome: 'delivered' });
    }

    const message = {
      locationId: LOCATION,
      contactId: 'c-1',
      phone: PHONE,
      message: 'Hello',
      messageId: 'm-1',
    };
    const webhook = `${bridge.url}/crm/webhook`;
    expect(await receiver.send(message, webhook, ed25519Key('another').privateKey)).toContain('HTTP_401');
    expect(await receiver.send(message, webhook, KEY.privateKey)).toContain('Forwarded');
    const { requestId, message: received } = await mac.nextFrame('send');
    expect(received).toBe('Hello');
    // The status is acknowledged when the CRM has accepted it.
    const seq = mac.status({ requestId, messageId: 'm-1', status: 'delivered' });
    expect(await mac.ack(seq)).toMatchObject({ outcome: 'delivered' });
  });

  it('stores a repeated message once, and finds the contact that it created', async () => {
    const contact = { locationId: LOCATION, phone: '+14155550199' };
    const created = await call('POST', '/contacts/upsert', contact);
    const found = await call(
      'GET',
      `/contacts/search/duplicate?locationId=${LOCATION}&number=%2B14155550199`,
    );
    expect([created.status, found.status, found.text]).toEqual([200, 200, created.text]);
    const inbound = { type: 'SMS', locationId: LOCATION, contactId: 'c-1', message: 'Hi' };
    const first = await call('POST', INBOUND, inbound, { 'Idempotency-Key': 'k-1' });
    const again = await call('POST', INBOUND, inbound, { 'Idempotency-Key': 'k-1' });
    const other = await call('POST', INBOUND, inbound, { 'Idempotency-Key': 'k-2' });
    expect([first.status, again, other.status]).toEqual([200, first, 200]);
    expect(other.text).not.toBe(first.text);
  });

  it('rejects invalid calls, and calls with a missing, forged or foreign token', async () => {
    const inbound = { type: 'SMS', locationId: LOCATION, contactId: 'c-1', message: 'Hi' };
    const forged = await issueToken('access', LOCATION, 'another-secret-with-32-characters');
    const foreign = await issueToken('access', 'locOTHER1', SETTINGS.CRM_OAUTH_CLIENT_SECRET);
    const authorised = (bearer: string) => ({ Authorization: bearer });
    const statuses = {
      missing: (await call('POST', INBOUND, inbound, authorised(''))).status,
      forged: (await call('POST', INBOUND, inbound, authorised(`Bearer ${forged}`))).status,
      altered: (await call('POST', INBOUND, inbound, authorised(`Bearer ${token.slice(0, -2)}`))).status,
      foreign: (await call('POST', INBOUND, inbound, authorised(`Bearer ${foreign}`))).status,
      forgedStatus: (
        await call(
          'PUT',
          '/conversations/messages/m-1/status',
          { status: 'failed' },
          authorised(`Bearer ${forged}`),
        )
      ).status,
      incomplete: (await call('POST', INBOUND, { ...inbound, contactId: undefined })).status,
      secret: (await call('POST', '/oauth/token', { client_id: 'my-crm', client_secret: 'guessed' })).status,
      unknown: (await call('POST', '/no/such/call', {})).status,
    };
    expect(statuses).toEqual({
      missing: 401,
      forged: 401,
      altered: 401,
      foreign: 403,
      forgedStatus: 401,
      incomplete: 400,
      secret: 401,
      unknown: 404,
    });
  });
});

describe.each(['node.mjs', 'express.mjs', 'fastify.mjs'])('the template %s', (file) => {
  const post = (url: string, body: string) =>
    fetch(url + INBOUND, { method: 'POST', headers: { 'Content-Type': 'application/json' }, body });

  it('rejects a body of more than a megabyte', async () => {
    const { url } = await startChild([file], SETTINGS);
    const { status } = await post(url, JSON.stringify({ message: 'a'.repeat(1_100_000) }));
    expect(status).toBe(413);
  });

  it('responds 500 without details to a call that fails, and prints the error', async () => {
    const { child, url } = await startChild([file], { ...SETTINGS, CRM_OAUTH_CLIENT_SECRET: 'short' });
    const response = await post(url, '{}');
    expect(response.status).toBe(500);
    expect(await response.text()).not.toMatch(/secret|at least/);
    const isError = (line: string) => (line.includes('at least 32 characters') ? line : undefined);
    expect(await child.line(isError, 60_000, 'the error')).toContain('client secret');
  });
});

describe('the n8n workflow', () => {
  const workflow = JSON.parse(readFileSync(join(TEMPLATES, 'n8n.json'), 'utf8')) as Workflow;
  const names = workflow.nodes.map(({ name }) => name);

  it('has nodes with unique names and ids, of known types and versions', () => {
    expect(new Set(names).size).toBe(names.length);
    expect(new Set(workflow.nodes.map(({ id }) => id)).size).toBe(names.length);
    for (const node of workflow.nodes) {
      expect(node.type).toMatch(/^n8n-nodes-base\.(webhook|code|respondToWebhook|manualTrigger|set)$/);
      expect([typeof node.typeVersion, node.position.length, typeof node.parameters]).toEqual([
        'number',
        2,
        'object',
      ]);
    }
  });

  it('connects every node, and every webhook to the node that responds', () => {
    const targets = Object.values(workflow.connections).flatMap(({ main }) => main.flat());
    expect(
      targets.every(({ node, type, index }) => names.includes(node) && type === 'main' && index === 0),
    ).toBe(true);
    expect(new Set([...Object.keys(workflow.connections), ...targets.map(({ node }) => node)]).size).toBe(
      names.length,
    );
    const webhooks = workflow.nodes.filter(({ type }) => type === 'n8n-nodes-base.webhook');
    expect(webhooks.map(({ parameters }) => parameters['responseMode'])).toEqual(
      webhooks.map(() => 'responseNode'),
    );
    expect(new Set(webhooks.map(({ webhookId }) => webhookId)).size).toBe(webhooks.length);
  });
});
