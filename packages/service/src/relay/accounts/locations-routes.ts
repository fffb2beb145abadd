import type { LocationId } from '@footbridge/protocol/ids';
import {
  assignLocation,
  createPairingCode,
  deleteLocation,
  disconnectLocation,
  listLocations,
} from '@footbridge/protocol/operator/accounts';
import type { FastifyInstance } from 'fastify';

import type { LicenseAdmin } from './manage-licenses.ts';
import type { ConnectedMac, LocationOverview, Overview } from './overview.ts';
import type { StateReport } from '../switchboard/switchboard.ts';
import { livenessView } from './liveness.ts';
import type { Liveness } from './liveness.ts';
import { visibleLocations } from '../../platform/operator/operator-auth.ts';
import { isoTime, operatorError } from '../../platform/operator/operator-request.ts';
import { namedPlace, readNamedPlace, readPage } from '../../platform/operator/pages.ts';
import { serveCall } from '../../platform/operator/serve-call.ts';

export interface LocationRoutesDeps {
  readonly licenseAdmin: Pick<
    LicenseAdmin,
    'assignLocation' | 'deleteLocation' | 'createPairingCode' | 'disconnectLocation'
  >;
  readonly overview: Pick<Overview, 'locationsPage' | 'location'>;
  readonly liveness: (location: LocationOverview) => Liveness | null;
  /** Returns the public address of the service, for the Mac that gets a pairing code. */
  readonly publicUrl: () => string;
}

/** `GET /operator/locations`, `PUT` and `DELETE /operator/locations/:locationId`, `POST …/disconnect` (M8) and `…/pairing-codes` (M12). */
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
    serveCall(app, listLocations, async ({ query: { locationId, limit, after }, request }) => {
      const from = readNamedPlace(after, ['stored', 'granted']);
      const only = visibleLocations(request, locationId);
      const { entries, next } = await readPage(
        limit,
        (count) => overview.locationsPage({ limit: count, after: from, only }),
        ({ list, location }) => namedPlace({ list, id: location.locationId }),
      );
      const locations = entries.map(({ location }) => view(location));
      return {
        locations: locations.sort((one, other) => (one.locationId < other.locationId ? -1 : 1)),
        ...next,
      };
    });

    serveCall(app, assignLocation, async ({ params: { locationId }, body: { licenseId }, request }) => {
      const outcome = await licenseAdmin.assignLocation(locationId, licenseId, request.operator.label);
      if (outcome.kind === 'changed') return await show(locationId);
      if (outcome.kind === 'no_such_license')
        throw operatorError('INVALID_REQUEST', 'licenseId: the license does not exist or is revoked.');
      if (outcome.kind === 'impossible')
        throw operatorError('CONFLICT', `A location that is ${outcome.from} cannot become ${outcome.to}.`);
      throw unheardOf();
    });

    serveCall(app, deleteLocation, async ({ params: { locationId }, query: { confirmed }, request }) => {
      const by = request.operator.label;
      const outcome = await licenseAdmin.deleteLocation(locationId, confirmed === 'true', by);
      if (outcome.kind === 'not_found') throw unheardOf();
      if (outcome.kind === 'deleted') return;
      const uses = [
        ...(outcome.license === null ? [] : [`belongs to “${outcome.license}”`]),
        ...(outcome.hasTokens ? ['has tokens of the CRM'] : []),
      ];
      throw operatorError(
        'CONFLICT',
        `This location ${uses.join(' and ') || 'was claimed by a Mac'}. To delete it anyway, with its tokens, confirm with \`footbridge location delete LOCATION --in-use\`.`,
      );
    });

    serveCall(app, createPairingCode, async ({ params: { locationId }, request }) => {
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
      const { licenseId, license } = created;
      const code = `${created.code}@${publicUrl().replace(/^https:\/\//, '')}`;
      return { locationId, licenseId, license, code, expiresAt: isoTime(created.expiresAt) };
    });

    serveCall(app, disconnectLocation, async ({ params: { locationId }, request }) => {
      const location = await overview.location(locationId);
      if (location === undefined) throw unheardOf();
      await licenseAdmin.disconnectLocation(locationId, request.operator.label);
      return { locationId, wasConnected: location.connected !== null };
    });
  };
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
