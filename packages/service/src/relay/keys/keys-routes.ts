import { diagnoseSignature } from '@footbridge/runtime/diagnose-signature';
import type { BodyOf } from '@footbridge/protocol/operator/call';
import {
  addKey,
  changeKey,
  diagnoseSignature as diagnoseSample,
  listKeys,
  listRejections,
  removeKey,
} from '@footbridge/protocol/operator/crm';
import type { FastifyInstance, FastifyRequest } from 'fastify';

import { RequestError } from '../../platform/errors.ts';
import type { SignatureRejections } from './recent-rejections.ts';
import type { Audit } from '../../platform/operator/audit-sql.ts';
import type { Changes } from '../../platform/changes/changes.ts';
import type { CrmKeys } from './keys-sql.ts';
import type { KeyInput, KeyRecord } from './keys.ts';
import { presetKey } from './presets-disk.ts';
import { isoTime, isRowId } from '../../platform/operator/operator-request.ts';
import { readPage, readTimedPlace, timedPlace } from '../../platform/operator/pages.ts';
import { serveCall } from '../../platform/operator/serve-call.ts';

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
    serveCall(app, listKeys, async ({ query: { limit, after } }) => {
      const from = readTimedPlace(after);
      const { entries, next } = await readPage(
        limit,
        (count) => keys.list({ limit: count, after: from }),
        ({ createdAt: at, id }) => timedPlace({ at, id }),
      );
      // The few keys of the settings are on the first page.
      const first = from === undefined ? fixed().map((key) => view(key, 'settings')) : [];
      return { keys: [...first, ...entries.map((key) => view(key, 'operator'))], ...next };
    });

    serveCall(app, addKey, async ({ body, request }) => {
      const outcome = await keys.add(input(body));
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
      return view(outcome.key, 'operator');
    });

    serveCall(app, listRejections, async () => ({
      rejections: rejections().map(({ lastAt, ...rest }) => ({ ...rest, lastAt: isoTime(lastAt) })),
    }));

    // The sample is neither stored nor logged.
    serveCall(app, diagnoseSample, async ({ body: { body, signature } }) => {
      return diagnoseSignature(Buffer.from(body, 'base64'), signature.trim(), [
        ...fixed(),
        ...(await keys.list()),
      ]);
    });

    serveCall(app, changeKey, async ({ params: { id }, body: { enabled }, request }) => {
      rejectFixed(id);
      const key = isRowId(id) ? await keys.setEnabled(id, enabled) : undefined;
      if (key === undefined) throw notFound();
      await announce(request, enabled ? 'key.enabled' : 'key.disabled', key);
      return view(key, 'operator');
    });

    serveCall(app, removeKey, async ({ params: { id }, request }) => {
      rejectFixed(id);
      const key = isRowId(id) ? await keys.remove(id) : undefined;
      if (key === undefined) throw notFound();
      await announce(request, 'key.removed', key);
    });
  };
}

function input(body: BodyOf<typeof addKey>): KeyInput {
  if (!('preset' in body)) return body;
  const { preset, label, locations } = body;
  const key = presetKey(preset);
  return { ...key, label: label ?? key.label, locations };
}

const notFound = () =>
  new RequestError('NOT_FOUND', {
    message: 'No key has this id. List the keys with `footbridge keys list`.',
  });
