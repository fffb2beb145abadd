import { silentLog } from '@footbridge/testkit/silent-log';
import { ed25519Key, fixedRsaKey } from '@footbridge/testkit/keys';
import fastify from 'fastify';
import { afterEach, describe, expect, it } from 'vitest';

import { crmKeys } from './keys-sql.ts';
import { settingsKeys } from './settings-keys.ts';
import { openDatabase } from '../../platform/sql/open-database.ts';
import { renderError } from '../../platform/http/render-error.ts';
import { keyRoutes } from './keys-routes.ts';
import { asOperator } from '../../platform/operator/testing/as-operator.ts';

const undo: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const step of undo.splice(0).toReversed()) await step();
});

async function start() {
  const database = await openDatabase({ engine: 'sqlite', file: ':memory:' }, () => {});
  undo.push(() => database.close());
  const happened: string[] = [];
  const fixed = settingsKeys({
    publicKey: ed25519Key('fixed').publicKey,
    legacyPublicKey: undefined,
    keysFile: undefined,
  });
  const app = fastify();
  app.setErrorHandler(renderError(silentLog));
  asOperator(app);
  keyRoutes({
    keys: crmKeys(database.db, () => Date.UTC(2026, 0, 1)),
    fixed: () => fixed,
    lastUsed: () => undefined,
    reload: async () => void happened.push('reload'),
    rejections: () => [],
    changes: { announce: async (topic, subject) => void happened.push(`announce ${topic} ${subject}`) },
    audit: { record: async ({ action, target }) => void happened.push(`audit ${action} ${target}`) },
  })(app);
  undo.push(() => app.close());
  const call = async (method: 'GET' | 'POST' | 'PATCH' | 'DELETE', path: string, body?: object) => {
    const answer = await app.inject({ method, url: path, ...(body !== undefined && { payload: body }) });
    return {
      status: answer.statusCode,
      body: answer.body === '' ? undefined : answer.json<Record<string, unknown>>(),
    };
  };
  return { call, happened, fixedId: fixed[0]?.id ?? '' };
}

const KEY = {
  label: 'Acme',
  scheme: 'Ed25519',
  header: 'X-Acme-Signature',
  publicKey: ed25519Key('acme').publicKey,
};

describe('/operator/keys', () => {
  it('S6 adds, lists, disables, enables and removes a key, and announces and records every change', async () => {
    const { call, happened } = await start();
    const { status, body } = await call('POST', '/operator/keys', { ...KEY, locations: ['locA'] });
    expect(status).toBe(201);
    expect(body).toMatchObject({
      ...KEY,
      locations: ['locA'],
      enabled: true,
      source: 'operator',
      fingerprint: expect.stringMatching(/^[0-9a-f]{64}$/),
      createdAt: '2026-01-01T00:00:00.000Z',
    });
    const id = String(body?.['id']);
    expect((await call('PATCH', `/operator/keys/${id}`, { enabled: false })).body).toMatchObject({
      enabled: false,
    });
    expect((await call('PATCH', `/operator/keys/${id}`, { enabled: true })).body).toMatchObject({
      enabled: true,
    });
    expect((await call('DELETE', `/operator/keys/${id}`)).status).toBe(204);
    expect(happened).toEqual(
      ['added', 'disabled', 'enabled', 'removed'].flatMap((what) => [
        'reload',
        `announce keys ${id}`,
        `audit key.${what} ${id}`,
      ]),
    );
    expect((await call('GET', '/operator/keys')).body).toMatchObject({ keys: [{ source: 'settings' }] });
  });

  it('S5 adds a preset by its name alone', async () => {
    const { call } = await start();
    expect((await call('POST', '/operator/keys', { preset: 'highlevel' })).body).toMatchObject({
      label: 'HighLevel',
      scheme: 'Ed25519',
      header: 'X-GHL-Signature',
      fingerprint: '5a2c1b2749d3efcc233fb27d4ab43d56b8d20818c42cd226f6c9a3ff20d3097c',
      locations: null,
    });
    const legacy = await call('POST', '/operator/keys', {
      preset: 'highlevel-legacy',
      label: 'Old',
      locations: ['a'],
    });
    expect(legacy.body).toMatchObject({ label: 'Old', header: 'X-WH-Signature', locations: ['a'] });
  });

  it.each<[string, object | undefined, RegExp]>([
    ['no body', undefined, /The body/],
    ['a field missing', { ...KEY, header: undefined }, /^header/],
    ['a field of the wrong type', { ...KEY, label: 5 }, /^label/],
    ['an unknown field', { ...KEY, kye: 1 }, /kye/],
    ['an unknown preset', { preset: 'unknown' }, /^preset/],
    ['a private key', { ...KEY, publicKey: ed25519Key('acme').privateKey }, /private key/],
    ['the wrong scheme', { ...KEY, scheme: 'RSA-SHA256' }, /needs an RSA key/],
    ['a taken header', { ...KEY, header: 'Host' }, /reserved by HTTP/],
  ])('S6 rejects %s with the reason', async (_name, body, reason) => {
    const { call, happened } = await start();
    const answer = await call('POST', '/operator/keys', body);
    expect(answer.status).toBe(400);
    expect(answer.body).toMatchObject({
      error: 'Invalid request',
      code: 'INVALID_REQUEST',
      message: expect.stringMatching(reason),
    });
    expect(JSON.stringify(answer.body)).not.toContain('MC4C');
    expect(happened).toEqual([]);
  });

  it('S6 rejects the same key twice as a conflict', async () => {
    const { call } = await start();
    await call('POST', '/operator/keys', KEY);
    const { status, body } = await call('POST', '/operator/keys', { ...KEY, label: 'again' });
    expect(status).toBe(409);
    expect(body).toMatchObject({
      error: 'Conflict',
      code: 'CONFLICT',
      message: expect.stringContaining('"Acme"'),
    });
    const other = { ...KEY, scheme: 'RSA-SHA256', publicKey: fixedRsaKey().publicKey };
    expect((await call('POST', '/operator/keys', other)).status).toBe(201);
  });

  it.each(['unknown', 'a%00b', '%2e%2e', 'x'.repeat(70)])('S6 responds 404 for the id %s', async (id) => {
    const { call } = await start();
    expect((await call('PATCH', `/operator/keys/${id}`, { enabled: true })).status).toBe(404);
    expect((await call('DELETE', `/operator/keys/${id}`)).status).toBe(404);
  });

  it('S6 lists the keys of the settings and does not change them', async () => {
    const { call, fixedId, happened } = await start();
    expect((await call('GET', '/operator/keys')).body).toMatchObject({
      keys: [{ id: fixedId, label: 'CRM_PUBLIC_KEY', source: 'settings', createdAt: null, enabled: true }],
    });
    expect(await call('DELETE', `/operator/keys/${fixedId}`)).toMatchObject({
      status: 409,
      body: { code: 'CONFLICT', message: expect.stringContaining('CRM_PUBLIC_KEY') },
    });
    expect((await call('PATCH', `/operator/keys/${fixedId}`, { enabled: false })).status).toBe(409);
    expect(happened).toEqual([]);
  });

  it('S6 rejects an empty change, and one with a field that is invalid or cannot be changed', async () => {
    const { call } = await start();
    const { body } = await call('POST', '/operator/keys', KEY);
    const path = `/operator/keys/${String(body?.['id'])}`;
    for (const change of [{}, { enabled: 'no' }, { enabled: true, label: 'x' }])
      expect((await call('PATCH', path, change)).status).toBe(400);
  });
});
