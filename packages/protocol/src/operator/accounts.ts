import { list, nullable, object, strict } from '../schema.ts';
import { call } from './call.ts';
import {
  count,
  flag,
  label,
  liveness,
  locationId,
  next,
  oneOf,
  page,
  rowId,
  text,
  textOrNull,
  time,
  timeOrNull,
  upTo,
} from './parts.ts';
import { macState } from './mac-state.ts';

const seats = object({ used: count, max: count });
const licenseStatus = oneOf('active', 'suspended', 'revoked');
const maxSeats = upTo(1_000_000);

const license = object({
  id: text,
  label: text,
  keyHint: text,
  status: licenseStatus,
  maxSeats: count,
  seats,
  createdAt: time,
  updatedAt: time,
});

const device = object({
  id: text,
  deviceId: text,
  licenseId: text,
  license: text,
  name: text,
  osVersion: text,
  appVersion: text,
  status: oneOf('active', 'deactivated', 'revoked'),
  connected: flag,
  locations: list(text),
  takeOvers: count,
  alternating: flag,
  activatedAt: time,
  lastSeenAt: time,
});

const location = object(
  {
    locationId: text,
    state: oneOf('unassigned', 'bound', 'released'),
    licenseId: textOrNull,
    license: textOrNull,
    claimed: flag,
    connected: nullable(
      object({
        deviceId: text,
        name: text,
        since: time,
        node: text,
        epoch: count,
        state: nullable(macState),
      }),
    ),
    lastDevice: nullable(object({ id: text, deviceId: text, name: text, lastSeenAt: time })),
    oauth: nullable(object({ state: text, expiresAt: timeOrNull, lastError: textOrNull })),
    liveness,
  },
  { name: text },
);

export const createLicense = call('POST', '/operator/licenses', {
  summary: 'Create a license',
  locations: 'none',
  body: strict({ label, maxSeats }),
  status: 201,
  response: object({ id: text, key: text, label: text, maxSeats: count }),
  secret: true,
  notes: 'The key is shown here only.',
});

export const listLicenses = call('GET', '/operator/licenses', {
  summary: 'The licenses',
  locations: 'none',
  query: strict({}, page),
  response: object({ licenses: list(license) }, next),
});

export const changeLicense = call('PATCH', '/operator/licenses/:id', {
  summary: 'Change a license',
  locations: 'none',
  body: strict({}, { status: licenseStatus, maxSeats, label }),
  response: license,
  errors: ['NOT_FOUND', 'CONFLICT'],
  notes: '409 `CONFLICT` when the change is not possible.',
});

export const listDevices = call('GET', '/operator/devices', {
  summary: 'The Macs that took a seat',
  locations: 'none',
  query: strict({}, page),
  response: object({ devices: list(device) }, next),
});

export const revokeDevice = call('POST', '/operator/devices/:id/revoke', {
  summary: 'Take the seat of a Mac away',
  locations: 'none',
  response: device,
  errors: ['NOT_FOUND', 'CONFLICT'],
});

export const restoreDevice = call('POST', '/operator/devices/:id/restore', {
  summary: 'Give the seat back to a revoked Mac',
  locations: 'none',
  response: device,
  errors: ['NOT_FOUND', 'CONFLICT'],
});

export const listLocations = call('GET', '/operator/locations', {
  summary: 'The locations and their Macs',
  locations: 'filtered',
  query: strict({}, { locationId, ...page }),
  response: object({ locations: list(location) }, next),
  notes:
    '`name` is present when an operator has given the location one. `claimed`: a Mac claimed the location, and the operator has not confirmed it by assigning it. `connected.state` has the fields of the newest [`state`](#state) and `at`, when it arrived; it is null before the first one, or while the node that holds the socket runs an earlier version.',
});

export const assignLocation = call('PUT', '/operator/locations/:locationId', {
  summary: 'Give a location to a license, or release it',
  locations: 'none',
  body: strict({ licenseId: { ...nullable(rowId), description: 'the id of a license, or null' } }),
  response: location,
  errors: ['NOT_FOUND', 'CONFLICT'],
  notes:
    '`licenseId` null releases it. Assigning a location to the license that a Mac claimed it for confirms that.',
});

export const deleteLocation = call('DELETE', '/operator/locations/:locationId', {
  summary: 'Delete a location',
  locations: 'none',
  query: strict({}, { confirmed: oneOf('true') }),
  errors: ['NOT_FOUND', 'CONFLICT'],
  notes:
    '409 `CONFLICT` when a license owns the location or it has tokens. With `confirmed`, it is deleted nevertheless: its Mac is disconnected, and its grant and its private integration token are deleted. Its name, messages, files and opt-outs stay. A location comes back when a Mac registers for it, or the app is installed in it.',
});

export const createPairingCode = call('POST', '/operator/locations/:locationId/pairing-codes', {
  summary: 'Create a code that pairs a Mac with a location',
  locations: 'none',
  status: 201,
  response: object({ locationId: text, licenseId: text, license: text, code: text, expiresAt: time }),
  secret: true,
  errors: ['CONFLICT'],
  notes:
    'The Mac takes a seat of the license that the response names. 409 `CONFLICT` when no license owns the location, or when a Mac claimed it, there are several licenses and the operator has not assigned it. The code is shown here only.',
});

export const disconnectLocation = call('POST', '/operator/locations/:locationId/disconnect', {
  summary: 'Disconnect the Mac of a location',
  locations: 'named',
  response: object({ locationId: text, wasConnected: flag }),
  errors: ['NOT_FOUND'],
});

export const nameLocation = call('PUT', '/operator/locations/:locationId/name', {
  summary: 'Give a location a name',
  locations: 'named',
  body: strict({ name: label }),
  response: object({ locationId: text, name: text }),
  errors: ['NOT_FOUND'],
  notes: 'Without the spaces around it. The name is shown beside the id wherever operators see the location.',
});

export const unnameLocation = call('DELETE', '/operator/locations/:locationId/name', {
  summary: 'Remove the name of a location',
  locations: 'named',
  errors: ['NOT_FOUND'],
});
