import { listDevices, restoreDevice, revokeDevice } from '@footbridge/protocol/operator/accounts';
import type { FastifyInstance } from 'fastify';

import type { LicenseAdmin } from './manage-licenses.ts';
import type { DeviceOverview, Overview } from './overview.ts';
import type { DeviceChangeOutcome } from './devices-sql.ts';
import { isoTime, isRowId, operatorError } from '../../platform/operator/operator-request.ts';
import { readPage, readTimedPlace, timedPlace } from '../../platform/operator/pages.ts';
import { serveCall } from '../../platform/operator/serve-call.ts';

export interface DeviceRoutesDeps {
  readonly licenseAdmin: Pick<LicenseAdmin, 'revokeDevice' | 'restoreDevice'>;
  readonly overview: Pick<Overview, 'devices' | 'device'>;
}

/** `GET /operator/devices`, `POST /operator/devices/:id/revoke` and `…/restore` (M7, M8). */
export function devicesRoutes({ licenseAdmin, overview }: DeviceRoutesDeps) {
  async function changed(id: string, change: (id: string) => Promise<DeviceChangeOutcome>) {
    const outcome = isRowId(id) ? await change(id) : NOWHERE;
    if (outcome.kind === 'changed') {
      const device = await overview.device(outcome.device.id);
      if (device !== undefined) return view(device);
    }
    if (outcome.kind === 'impossible')
      throw operatorError('CONFLICT', `A device that is ${outcome.from} cannot become ${outcome.to}.`);
    throw operatorError(
      'NOT_FOUND',
      'No device has this id. List the devices with `footbridge device list`.',
    );
  }

  return (app: FastifyInstance): void => {
    serveCall(app, listDevices, async ({ query: { limit, after } }) => {
      const from = readTimedPlace(after);
      const { entries, next } = await readPage(
        limit,
        (count) => overview.devices({ limit: count, after: from }),
        ({ activatedAt: at, id }) => timedPlace({ at, id }),
      );
      return { devices: entries.map(view), ...next };
    });

    serveCall(app, revokeDevice, ({ params, request }) =>
      changed(params.id, (id) => licenseAdmin.revokeDevice(id, request.operator.label)),
    );

    serveCall(app, restoreDevice, ({ params, request }) =>
      changed(params.id, (id) => licenseAdmin.restoreDevice(id, request.operator.label)),
    );
  };
}

const NOWHERE = { kind: 'not_found' } as const;

function view(device: DeviceOverview) {
  const { id, deviceId, licenseId, license, name, osVersion, appVersion, status, connectedTo } = device;
  return {
    id,
    deviceId,
    licenseId,
    license,
    name,
    osVersion,
    appVersion,
    status,
    connected: connectedTo.length > 0,
    locations: connectedTo,
    takeOvers: device.takeOvers.count,
    alternating: device.takeOvers.isAlternating,
    activatedAt: isoTime(device.activatedAt),
    lastSeenAt: isoTime(device.lastSeenAt),
  };
}
