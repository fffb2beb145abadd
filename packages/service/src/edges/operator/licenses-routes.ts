import type { FastifyInstance } from 'fastify';
import { z } from 'zod';

import type { LicenseAdmin } from '../../flows/enrol/manage-licenses.ts';
import type { Overview } from '../../flows/enrol/overview.ts';
import type { License, LicenseChange } from '../../ports/licenses/licenses.ts';
import { isoTime, isRowId, readBody, operatorError } from './operator-request.ts';

export interface LicenseRoutesDeps {
  readonly licenseAdmin: Pick<LicenseAdmin, 'createLicense' | 'changeLicense'>;
  readonly overview: Pick<Overview, 'licenses'>;
}

const label = z
  .string()
  .trim()
  .min(1, 'must not be empty')
  .max(200, 'must have at most 200 characters')
  .regex(/^\P{Cc}*$/u, 'must not contain control characters');
const maxSeats = z
  .int('must be a whole number')
  .min(1, 'must be at least 1')
  .max(1_000_000, 'must be at most 1000000');
const CREATE = z.strictObject({ label, maxSeats });
const CHANGE = z
  .strictObject({
    status: z.enum(['active', 'suspended', 'revoked'], 'must be active, suspended or revoked').optional(),
    maxSeats: maxSeats.optional(),
    label: label.optional(),
  })
  .refine((change) => Object.keys(change).length > 0, 'must have status, maxSeats or label');

/** `POST`, `GET`, `PATCH /operator/licenses` (M7, M8). */
export function licensesRoutes({ licenseAdmin, overview }: LicenseRoutesDeps) {
  return (app: FastifyInstance): void => {
    app.post('/operator/licenses', async (request, reply) => {
      const { license, key } = await licenseAdmin.createLicense(
        readBody(CREATE, request.body),
        request.operator.label,
      );
      return reply
        .code(201)
        .header('Cache-Control', 'no-store')
        .send({ id: license.id, key, label: license.label, maxSeats: license.seats.max });
    });

    app.get('/operator/licenses', async () => ({ licenses: (await overview.licenses()).map(view) }));

    app.patch<{ Params: { id: string } }>('/operator/licenses/:id', async (request) => {
      const change = changeOf(readBody(CHANGE, request.body));
      const { id } = request.params;
      const outcome = isRowId(id)
        ? await licenseAdmin.changeLicense(id, change, request.operator.label)
        : NOWHERE;
      if (outcome.kind === 'changed') return view(outcome.license);
      if (outcome.kind === 'not_found')
        throw operatorError(
          'NOT_FOUND',
          'No license has this id. List the licenses with `footbridge license list`.',
        );
      if (outcome.kind === 'seats_taken')
        throw operatorError(
          'CONFLICT',
          `${outcome.used} seats are in use. Revoke devices first, or choose at least ${outcome.used} seats.`,
        );
      throw operatorError(
        'CONFLICT',
        `A license that is ${outcome.from} cannot become ${outcome.to}. Create a new one instead.`,
      );
    });
  };
}

const NOWHERE = { kind: 'not_found' } as const;

/** Contains only the given fields: an absent field changes nothing. */
function changeOf({ status, maxSeats: seats, label: name }: z.infer<typeof CHANGE>): LicenseChange {
  return {
    ...(status !== undefined && { status }),
    ...(seats !== undefined && { maxSeats: seats }),
    ...(name !== undefined && { label: name }),
  };
}

function view({ id, label: name, keyHint, status, seats, createdAt, updatedAt }: License) {
  return {
    id,
    label: name,
    keyHint,
    status,
    maxSeats: seats.max,
    seats,
    createdAt: isoTime(createdAt),
    updatedAt: isoTime(updatedAt),
  };
}
