import { asLocationId } from '@footbridge/protocol/ids';
import type { LocationId } from '@footbridge/protocol/ids';
import type { FastifyInstance } from 'fastify';
import { z } from 'zod';

import type { LicenseAdmin } from '../../flows/enrol/manage-licenses.ts';
import type { ConnectedMac, LocationOverview, Overview } from '../../flows/enrol/overview.ts';
import type { Liveness } from '../../flows/tenants/liveness.ts';
import type { StateReport } from '../../ports/switchboard/switchboard.ts';
import { livenessView } from './liveness-view.ts';
import { mayAccess } from './operator-auth.ts';
import { isoTime, isRowId, readBody, operatorError } from './operator-request.ts';

export interface LocationRoutesDeps {
  readonly licenseAdmin: Pick<LicenseAdmin, 'assignLocation' | 'createPairingCode' | 'disconnectLocation'>;
  readonly overview: Pick<Overview, 'locations' | 'location'>;
  readonly liveness: (location: LocationOverview) => Liveness | null;
  /** Returns the public address of the service, for the Mac that gets a pairing code. */
  readonly publicUrl: () => string;
}

const RULE = 'must be the id of a license, or null';
const ASSIGN = z.strictObject({ licenseId: z.string(RULE).refine(isRowId, RULE).nullable() });
const LONGEST = 256;

interface OfLocation {
  Params: { locationId: string };
}

/** `GET /operator/locations`, `PUT /operator/locations/:locationId`, `POST …/disconnect` (M8) and `…/pairing-codes` (M12). */
export function locationsRoutes({ licenseAdmin, overview, liveness, publicUrl }: LocationRoutesDeps) {
  const view = (location: LocationOverview) => ({
    ...locationView(location),
    liveness: livenessView(liveness(location)),
  });

  async function show(locationId: LocationId) {
    const location = await overview.location(locationId);
    if (location === undefined) throw unheardOf();
    return view(location);
  }

  return (app: FastifyInstance): void => {
    app.get('/operator/locations', { config: { locations: 'filtered' } }, async (request) => {
      const locations = await overview.locations();
      return { locations: locations.filter(({ locationId }) => mayAccess(request, locationId)).map(view) };
    });

    app.put<OfLocation>('/operator/locations/:locationId', async (request) => {
      const locationId = read(request.params.locationId);
      const outcome = await licenseAdmin.assignLocation(
        locationId,
        readBody(ASSIGN, request.body).licenseId,
        request.operator.label,
      );
      if (outcome.kind === 'changed') return await show(locationId);
      if (outcome.kind === 'no_such_license')
        throw operatorError('INVALID_REQUEST', 'licenseId: the license does not exist or is revoked.');
      if (outcome.kind === 'impossible')
        throw operatorError('CONFLICT', `A location that is ${outcome.from} cannot become ${outcome.to}.`);
      throw unheardOf();
    });

    app.post<OfLocation>('/operator/locations/:locationId/pairing-codes', async (request, reply) => {
      const locationId = read(request.params.locationId);
      const created = await licenseAdmin.createPairingCode(locationId, request.operator.label);
      if (created.kind === 'claimed')
        throw operatorError(
          'CONFLICT',
          `A Mac of “${created.license}” claimed this location by itself, and there are several licenses. Say which one it belongs to with \`footbridge location assign LOCATION LICENSE\`, then create the code.`,
        );
      if (created.kind === 'no_license')
        throw operatorError(
          'CONFLICT',
          'No license owns this location, so no Mac can take a seat for it. Assign one with `footbridge location assign LOCATION LICENSE`.',
        );
      const code = `${created.code}@${publicUrl().replace(/^https:\/\//, '')}`;
      return reply
        .code(201)
        .header('Cache-Control', 'no-store')
        .send({
          locationId,
          licenseId: created.licenseId,
          license: created.license,
          code,
          expiresAt: isoTime(created.expiresAt),
        });
    });

    app.post<OfLocation>(
      '/operator/locations/:locationId/disconnect',
      { config: { locations: 'named' } },
      async (request) => {
        const locationId = read(request.params.locationId);
        const location = await overview.location(locationId);
        if (location === undefined) throw unheardOf();
        await licenseAdmin.disconnectLocation(locationId, request.operator.label);
        return { locationId, wasConnected: location.connected !== null };
      },
    );
  };
}

function read(text: string): LocationId {
  const locationId = asLocationId(text);
  if (locationId === undefined || text.length > LONGEST || /\p{Cc}/u.test(text) || !text.isWellFormed())
    throw operatorError('INVALID_REQUEST', 'locationId: not a valid location id.');
  return locationId;
}

const unheardOf = () =>
  operatorError('NOT_FOUND', 'This location is unknown. List the locations with `footbridge location list`.');

function locationView({ connected, lastDevice, oauth, ...location }: LocationOverview) {
  return {
    ...location,
    lastDevice: lastDevice === null ? null : { ...lastDevice, lastSeenAt: isoTime(lastDevice.lastSeenAt) },
    connected: connected === null ? null : macView(connected),
    oauth:
      oauth === null
        ? null
        : { ...oauth, expiresAt: oauth.expiresAt === null ? null : isoTime(oauth.expiresAt) },
  };
}

function macView({ stateReport, since, ...mac }: ConnectedMac) {
  return { ...mac, since: isoTime(since), state: stateReport === null ? null : stateView(stateReport) };
}

function stateView({ at, state }: StateReport) {
  const { type: _type, ...fields } = state;
  return { at: isoTime(at), ...fields };
}
