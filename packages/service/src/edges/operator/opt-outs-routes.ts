import type { FastifyInstance, FastifyRequest } from 'fastify';
import { z } from 'zod';

import type { OptOutImport } from '../../flows/opt-out/import-opt-outs.ts';
import type { Audit, AuditDetail } from '../../ports/audit/audit.ts';
import type { Suppressions, SuppressionView } from '../../ports/suppressions/suppressions.ts';
import { visibleLocations } from './operator-auth.ts';
import { asLocation, isoTime, operatorError, readBody } from './operator-request.ts';

export interface OptOutsRoutesDeps {
  readonly suppressions: Pick<Suppressions, 'set' | 'list'>;
  readonly imports: OptOutImport;
  /** Returns a phone number in E.164, or an email address. Undefined: it is neither. */
  readonly asHandle: (given: string) => string | undefined;
  /** The id of the key for new hashes. */
  readonly keyId: string;
  readonly audit: Pick<Audit, 'record'>;
}

interface OfLocation {
  Params: { locationId: string };
}

const MAX_ROWS = 2000;
const MAX_BODY = 393_216;
const FILTERED = { config: { locations: 'filtered' } } as const;
const NAMED = { config: { locations: 'named' } } as const;
const HASH = /^[\w-]{1,64}$/;

const time = z.iso
  .datetime({ offset: true, error: 'must be a time such as 2026-01-31T09:00:00Z' })
  .transform((iso) => Date.parse(iso));
const QUERY = z.strictObject({
  locationId: z.string().max(256).optional(),
  phone: z.string().max(256).optional(),
  cursor: z.string().max(512).optional(),
  limit: z.coerce.number().int().min(1).max(MAX_ROWS).default(200),
});
const DECISION = z.strictObject({ phone: z.string().max(256), optedOut: z.boolean() });
const NUMBERS = z.strictObject({
  numbers: z.array(z.string().max(256)).max(MAX_ROWS),
  decidedAt: time.optional(),
});
const EXPORTED = z.strictObject({
  key: z.string().max(64),
  hashes: z
    .array(
      z.strictObject({
        hash: z.string().regex(HASH, 'must be a hash from an export'),
        source: z.enum(['crm', 'word', 'operator']),
        since: time,
      }),
    )
    .max(MAX_ROWS),
});

/**
 * `GET /operator/opt-outs`, `PUT /operator/locations/:locationId/opt-outs`, `POST …/opt-outs/import`: the people who opted out of texts (E4).
 * Only hashes of their numbers are stored, so no response contains a number.
 */
export function optOutsRoutes({ suppressions, imports, asHandle, keyId, audit }: OptOutsRoutesDeps) {
  const record = ({ operator }: FastifyRequest, action: string, target: string, detail?: AuditDetail) =>
    audit.record({
      actor: 'operator',
      name: operator.label,
      action,
      target,
      ...(detail !== undefined && { detail }),
    });

  return (app: FastifyInstance): void => {
    app.get('/operator/opt-outs', FILTERED, async (request) => {
      const { locationId, phone, cursor, limit } = readBody(QUERY, request.query);
      const page = await suppressions.list({
        locationIds: visibleLocations(request, locationId),
        handle: phone === undefined ? undefined : handleOf(phone),
        after: cursor === undefined ? undefined : readCursor(cursor),
        limit,
      });
      const last = page.at(-1);
      return {
        key: keyId,
        optOuts: page.map(({ since, ...entry }) => ({ ...entry, since: isoTime(since) })),
        cursor: page.length < limit || last === undefined ? null : `${last.hash}.${last.locationId}`,
      };
    });

    app.put<OfLocation>('/operator/locations/:locationId/opt-outs', NAMED, async (request, reply) => {
      const locationId = asLocation(request.params.locationId);
      const { phone, optedOut } = readBody(DECISION, request.body);
      const handle = handleOf(phone);
      await suppressions.set({ locationId, handle, isSuppressed: optedOut, source: 'operator' });
      await record(request, optedOut ? 'opt_out.added' : 'opt_out.removed', locationId);
      return reply.code(204).send();
    });

    app.post<OfLocation>(
      '/operator/locations/:locationId/opt-outs/import',
      { ...NAMED, bodyLimit: MAX_BODY },
      async (request) => {
        const locationId = asLocation(request.params.locationId);
        const isExport = typeof request.body === 'object' && Object.hasOwn(Object(request.body), 'hashes');
        const result = isExport
          ? await restore(locationId, request.body)
          : await add(locationId, request.body);
        await record(request, 'opt_out.imported', locationId, { numbers: result.imported });
        return result;
      },
    );
  };

  function handleOf(phone: string): string {
    const handle = asHandle(phone);
    if (handle !== undefined) return handle;
    throw operatorError(
      'INVALID_REQUEST',
      'phone: not a phone number or an email address. Write the number with its country code, such as +15555550100.',
    );
  }

  async function add(locationId: string, body: unknown) {
    const { numbers, decidedAt } = readBody(NUMBERS, body);
    const invalid = await imports.numbers(locationId, numbers, decidedAt);
    return { imported: numbers.length - invalid.length, invalid };
  }

  async function restore(locationId: string, body: unknown) {
    const { key, hashes } = readBody(EXPORTED, body);
    if (!(await imports.exported(locationId, key, hashes)))
      throw operatorError(
        'CONFLICT',
        'This export was made with another key, so its hashes match no number here. Add the key of that service to CRM_OAUTH_ENCRYPTION_KEY (after its own key), restart, and import again.',
      );
    return { imported: hashes.length, invalid: [] };
  }
}

function readCursor(cursor: string): Pick<SuppressionView, 'locationId' | 'hash'> {
  const [, hash, locationId] = /^([\w-]{1,64})\.(.{1,256})$/s.exec(cursor) ?? [];
  if (hash === undefined || locationId === undefined)
    throw operatorError('INVALID_REQUEST', 'cursor: must be the cursor of the previous page.');
  return { hash, locationId };
}
