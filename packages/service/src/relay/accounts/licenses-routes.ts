import { changeLicense, createLicense, listLicenses } from '@footbridge/protocol/operator/accounts';
import type { BodyOf } from '@footbridge/protocol/operator/call';
import type { FastifyInstance } from 'fastify';

import type { LicenseAdmin } from './manage-licenses.ts';
import type { Overview } from './overview.ts';
import type { License, LicenseChange } from './licenses-sql.ts';
import { isoTime, isRowId, operatorError } from '../../platform/operator/operator-request.ts';
import { readPage, readTimedPlace, timedPlace } from '../../platform/operator/pages.ts';
import { serveCall } from '../../platform/operator/serve-call.ts';

export interface LicenseRoutesDeps {
  readonly licenseAdmin: Pick<LicenseAdmin, 'createLicense' | 'changeLicense'>;
  readonly overview: Pick<Overview, 'licenses'>;
}

/** `POST`, `GET`, `PATCH /operator/licenses` (M7, M8). */
export function licensesRoutes({ licenseAdmin, overview }: LicenseRoutesDeps) {
  return (app: FastifyInstance): void => {
    serveCall(app, createLicense, async ({ body, request }) => {
      const wanted = { ...body, label: body.label.trim() };
      const { license, key } = await licenseAdmin.createLicense(wanted, request.operator.label);
      return { id: license.id, key, label: license.label, maxSeats: license.seats.max };
    });

    serveCall(app, listLicenses, async ({ query: { limit, after } }) => {
      const from = readTimedPlace(after);
      const { entries, next } = await readPage(
        limit,
        (count) => overview.licenses({ limit: count, after: from }),
        ({ createdAt: at, id }) => timedPlace({ at, id }),
      );
      return { licenses: entries.map(view), ...next };
    });

    serveCall(app, changeLicense, async ({ params: { id }, body, request }) => {
      const change = changeOf(body);
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

function changeOf({ label, ...change }: BodyOf<typeof changeLicense>): LicenseChange {
  if (label === undefined && Object.keys(change).length === 0)
    throw operatorError('INVALID_REQUEST', 'The body: must have status, maxSeats or label');
  return { ...change, ...(label !== undefined && { label: label.trim() }) };
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
