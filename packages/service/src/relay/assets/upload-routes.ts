import { Readable } from 'node:stream';

import { decodeFileName } from '@footbridge/media/file-name';
import { parseBearerToken } from '@footbridge/protocol/bearer-token';
import type { LocationId } from '@footbridge/protocol/ids';
import type { FastifyInstance, FastifyRequest } from 'fastify';

import { BUDGETS } from '../../platform/budgets.ts';
import { RequestError } from '../../platform/errors.ts';
import { MAX_UPLOAD_BYTES } from './take-upload.ts';
import type { Upload, UploadOutcome } from './take-upload.ts';
import type { DeviceAuth, DeviceIdentity } from '../accounts/authenticate-device.ts';
import type { Limit, Limits } from '../../platform/limits/limits.ts';
import type { Switchboard } from '../switchboard/switchboard.ts';
import { Slots } from '../../platform/http/request-budget.ts';

export interface AssetUploadDeps {
  readonly take: (upload: Upload) => Promise<UploadOutcome>;
  readonly deviceAuth: Pick<DeviceAuth, 'authenticate'>;
  readonly switchboard: Pick<Switchboard, 'boundMacs'>;
  readonly mayServe: (locationId: LocationId, device: DeviceIdentity) => Promise<boolean>;
  readonly limits: Limits;
}

const PER_LOCATION: Limit = { name: 'assets', max: 600, windowSec: 60 };
/** Counted before the lookup of the device's location, which asks all nodes. */
const PER_DEVICE: Limit = { name: 'assets-device', max: 600, windowSec: 60 };
const REJECTIONS = {
  too_large: ['PAYLOAD_TOO_LARGE', 'The file is larger than 100 MB.'],
  storage_full: [
    'INSUFFICIENT_STORAGE',
    'The storage of the service is full. The operator must free some space.',
  ],
  quota: [
    'INSUFFICIENT_STORAGE',
    'The files of this location have reached their quota. Old files expire; the operator can raise ASSET_QUOTA_MB.',
  ],
  license_quota: [
    'INSUFFICIENT_STORAGE',
    'The files of this license have reached their quota. Old files expire; the operator can raise ASSET_QUOTA_SEAT_MB.',
  ],
} as const;

/** `POST /mac/assets`: stores a file from a Mac while reading it from the socket. */
export function assetUploadRoutes(deps: AssetUploadDeps) {
  const slots = new Slots(BUDGETS.uploads.slots);

  async function take(
    request: FastifyRequest,
    locationId: string,
    { deviceRow, licenseId }: DeviceIdentity,
  ): Promise<UploadOutcome> {
    const release = slots.enter({ device: deviceRow, license: licenseId });
    if (typeof release === 'string') throw tooMany(1);
    try {
      const name = request.headers['x-file-name'];
      return await deps.take({
        locationId,
        licenseId,
        name: decodeFileName((Array.isArray(name) ? name[0] : name) ?? ''),
        bytes: bodyOf(request),
      });
    } finally {
      // Reads and discards the rest of a rejected file, so that the client gets the response: see `bodyOf`.
      request.raw.resume();
      release();
    }
  }

  async function limit(rate: Limit, key: string): Promise<void> {
    const verdict = await deps.limits.take(rate, key);
    if (!verdict.allowed) throw tooMany(verdict.resetSec);
  }

  return (app: FastifyInstance): void => {
    app.removeAllContentTypeParsers();
    app.addContentTypeParser('*', (_request, payload, done) => done(null, payload));

    app.post('/mac/assets', { bodyLimit: MAX_UPLOAD_BYTES }, async (request, reply) => {
      const device = await authenticated(request, deps);
      await limit(PER_DEVICE, device.deviceRow);
      const locationId = await boundLocation(device, deps);
      await limit(PER_LOCATION, locationId);
      if (!['identity', undefined].includes(request.headers['content-encoding']))
        throw new RequestError('UNSUPPORTED_MEDIA_TYPE', {
          message: 'Send the file as it is, without Content-Encoding.',
        });
      if (Number(request.headers['content-length'] ?? 0) > MAX_UPLOAD_BYTES) throw uploadError('too_large');
      const outcome = await take(request, locationId, device);
      if (outcome.kind === 'rejected') throw uploadError(outcome.reason);
      return reply.code(201).header('Cache-Control', 'no-store').send({ url: outcome.url });
    });
  };
}

/** Ending the iteration does not destroy the request: a client that is still sending must get the response, not a reset. */
function bodyOf({ body }: FastifyRequest): AsyncIterable<Uint8Array> {
  return body instanceof Readable ? body.iterator({ destroyOnReturn: false }) : Readable.from([]);
}

function uploadError(reason: keyof typeof REJECTIONS): RequestError {
  const [code, message] = REJECTIONS[reason];
  return new RequestError(code, { message });
}

function tooMany(waitSec: number): RequestError {
  return new RequestError(
    'TOO_MANY_REQUESTS',
    { message: 'Too many uploads at once from this Mac or its license.' },
    { retryAfterSec: waitSec },
  );
}

async function authenticated(
  request: FastifyRequest,
  { deviceAuth }: AssetUploadDeps,
): Promise<DeviceIdentity> {
  const token = parseBearerToken(request.headers.authorization) ?? '';
  const device = await deviceAuth.authenticate(token);
  if (device === undefined || device.status === 'inactive' || device.status === 'replaced')
    throw new RequestError(
      'UNAUTHORIZED',
      { message: 'The device token is missing or no longer valid.' },
      { headers: { 'WWW-Authenticate': 'Bearer' } },
    );
  if (device.status === 'suspended') throw new RequestError('LICENSE_SUSPENDED');
  return device;
}

/** Returns the location that this device holds now, on any node. */
async function boundLocation(
  device: DeviceIdentity,
  { switchboard, mayServe }: AssetUploadDeps,
): Promise<string> {
  for (const { locationId } of await switchboard.boundMacs({ deviceId: device.deviceId }))
    if (await mayServe(locationId, device)) return locationId;
  throw new RequestError('CONFLICT', {
    message: 'This Mac does not hold a location now. Connect and register, then send the file again.',
  });
}
