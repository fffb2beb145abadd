import { diagnoseSignature } from '@footbridge/runtime/diagnose-signature';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { z } from 'zod';

import { RequestError } from '../../errors.ts';
import type { SignatureRejections } from '../../flows/outbound/recent-rejections.ts';
import type { Audit } from '../../ports/audit/audit.ts';
import type { Changes } from '../../ports/changes/changes.ts';
import type { CrmKeys, KeyRecord, KeyInput } from '../../ports/keys/keys.ts';
import { PRESET_NAMES, presetKey } from '../../ports/keys/presets.ts';
import { isoTime, isRowId, readBody } from './operator-request.ts';

export interface KeyRoutesDeps {
  readonly keys: CrmKeys;
  /** Keys from the settings: listed, but only changed by editing the settings. */
  readonly fixed: () => readonly KeyRecord[];
  /** When this node last verified a webhook with a key; undefined when it has not since its start. */
  readonly lastUsed: (id: string) => number | undefined;
  /** Applies a change on this node before the response is sent. */
  readonly reload: () => Promise<void>;
  /** The signatures that this node rejected within the last hour. */
  readonly rejections: () => readonly SignatureRejections[];
  readonly changes: Pick<Changes, 'announce'>;
  readonly audit: Pick<Audit, 'record'>;
}

const locations = z.array(z.string()).nullish();
const BY_PRESET = z.strictObject({
  preset: z.enum(PRESET_NAMES),
  label: z.string().optional(),
  locations,
});
const BY_HAND = z.strictObject({
  label: z.string(),
  scheme: z.string(),
  header: z.string(),
  publicKey: z.string(),
  locations,
});
const SAMPLE = z.strictObject({
  body: z.base64('must be the raw request body, in base64').max(1_000_000),
  signature: z.string().max(4096),
});
const CHANGE = z.strictObject({ enabled: z.boolean() });

/** The allowlist of CRM keys: `GET`, `POST`, `PATCH`, `DELETE /operator/keys` (S5, S6), and why a signature is rejected. */
export function keyRoutes({ keys, fixed, lastUsed, reload, rejections, changes, audit }: KeyRoutesDeps) {
  function view(key: KeyRecord, source: 'settings' | 'operator') {
    const { id, label, scheme, header, fingerprint, publicKey, locations: limitedTo, enabled } = key;
    const usedAt = lastUsed(id);
    return {
      id,
      label,
      scheme,
      header,
      fingerprint,
      publicKey,
      locations: limitedTo,
      enabled,
      source,
      createdAt: source === 'settings' ? null : isoTime(key.createdAt),
      lastUsedAt: usedAt === undefined ? null : isoTime(usedAt),
    };
  }

  async function announce({ operator }: FastifyRequest, action: string, key: KeyRecord): Promise<void> {
    await reload();
    await changes.announce('keys', key.id);
    const { label, scheme, header, fingerprint } = key;
    await audit.record({
      actor: 'operator',
      name: operator.label,
      action,
      target: key.id,
      detail: { label, scheme, header, fingerprint },
    });
  }

  function rejectFixed(id: string): void {
    const key = fixed().find((candidate) => candidate.id === id);
    if (key === undefined) return;
    const message = `This key comes from the settings of the service (${key.label}). Change it there and restart the service.`;
    throw new RequestError('CONFLICT', { message }, { label: 'Conflict' });
  }

  return (app: FastifyInstance): void => {
    app.get('/operator/keys', async () => ({
      keys: [
        ...fixed().map((key) => view(key, 'settings')),
        ...(await keys.list()).map((key) => view(key, 'operator')),
      ],
    }));

    app.post('/operator/keys', async (request, reply) => {
      const outcome = await keys.add(input(request.body));
      if (outcome.kind === 'rejected') {
        const { field, reason: message } = outcome.problem;
        throw new RequestError('INVALID_REQUEST', { message, field }, { label: 'Invalid request' });
      }
      if (outcome.kind === 'duplicate') {
        const { id, label, header } = outcome.key;
        const message = `This key is already registered for header ${header} as "${label}". Enable that one, or remove it first.`;
        throw new RequestError('CONFLICT', { message, id }, { label: 'Conflict' });
      }
      await announce(request, 'key.added', outcome.key);
      return reply.code(201).send(view(outcome.key, 'operator'));
    });

    app.get('/operator/keys/rejections', async () => ({
      rejections: rejections().map(({ lastAt, ...rest }) => ({ ...rest, lastAt: isoTime(lastAt) })),
    }));

    // The sample is neither stored nor logged.
    app.post('/operator/keys/diagnose', async (request) => {
      const { body, signature } = readBody(SAMPLE, request.body);
      return diagnoseSignature(Buffer.from(body, 'base64'), signature.trim(), [
        ...fixed(),
        ...(await keys.list()),
      ]);
    });

    app.patch<{ Params: { id: string } }>('/operator/keys/:id', async (request) => {
      const { id } = request.params;
      rejectFixed(id);
      const { enabled } = readBody(CHANGE, request.body);
      const key = isRowId(id) ? await keys.setEnabled(id, enabled) : undefined;
      if (key === undefined) throw notFound();
      await announce(request, enabled ? 'key.enabled' : 'key.disabled', key);
      return view(key, 'operator');
    });

    app.delete<{ Params: { id: string } }>('/operator/keys/:id', async (request, reply) => {
      const { id } = request.params;
      rejectFixed(id);
      const key = isRowId(id) ? await keys.remove(id) : undefined;
      if (key === undefined) throw notFound();
      await announce(request, 'key.removed', key);
      return reply.code(204).send();
    });
  };
}

function input(body: unknown): KeyInput {
  if (typeof body !== 'object' || body === null || !Object.hasOwn(body, 'preset'))
    return readBody(BY_HAND, body);
  const { preset, label, locations: limitedTo } = readBody(BY_PRESET, body);
  const key = presetKey(preset);
  return { ...key, label: label ?? key.label, locations: limitedTo };
}

const notFound = () =>
  new RequestError('NOT_FOUND', {
    message: 'No key has this id. List the keys with `footbridge keys list`.',
  });
