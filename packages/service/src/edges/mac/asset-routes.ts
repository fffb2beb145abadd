import type { IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';

import { decodeFileName } from '@footbridge/media/file-name';
import { parseBearerToken } from '@footbridge/protocol/bearer-token';
import type { LocationId } from '@footbridge/protocol/ids';
import { every } from '@footbridge/runtime/clock';
import type { Clock } from '@footbridge/runtime/clock';
import type { FastifyInstance, FastifyRequest } from 'fastify';

import { RequestError } from '../../errors.ts';
import { MAX_UPLOAD_BYTES } from '../../flows/assets/take-upload.ts';
import type { Upload, UploadOutcome } from '../../flows/assets/take-upload.ts';
import type { DeviceAuth } from '../../flows/enrol/authenticate-device.ts';
import type { Limit, Limits } from '../../ports/limits/limits.ts';
import type { Switchboard } from '../../ports/switchboard/switchboard.ts';

export interface AssetUploadDeps {
  readonly take: (upload: Upload) => Promise<UploadOutcome>;
  readonly deviceAuth: Pick<DeviceAuth, 'authenticate'>;
  readonly switchboard: Pick<Switchboard, 'boundMacs'>;
  /** Whether a license owns a location. */
  readonly owns: (locationId: LocationId, licenseId: string) => Promise<boolean>;
  readonly limits: Limits;
  readonly clock: Clock;
}

const PER_LOCATION: Limit = { name: 'assets', max: 600, windowSec: 60 };
/** The listener has room for a thousand requests; no tenant may fill it with uploads that do not end. */
const AT_ONCE = 50;
/** An upload from which nothing comes for so many looks in a row is broken off. */
const STALLED_LOOKS = 10;
const LOOK_MS = 1000;
const REFUSALS = {
  too_large: ['PAYLOAD_TOO_LARGE', 'A file may have at most 100 MB.'],
  storage_full: [
    'INSUFFICIENT_STORAGE',
    'The service has no room for this file. The operator has to make some.',
  ],
  quota: [
    'INSUFFICIENT_STORAGE',
    'The files of this location have reached their quota. Old ones go with time; the operator can raise ASSET_QUOTA_MB.',
  ],
} as const;

/** `POST /mac/assets`: what a Mac received, as it is read from the socket. */
export function assetUploadRoutes(deps: AssetUploadDeps) {
  const underWay = new Map<string, number>();

  async function take(request: FastifyRequest, locationId: string): Promise<UploadOutcome> {
    const uploads = underWay.get(locationId) ?? 0;
    if (uploads >= AT_ONCE) throw tooMany(1);
    underWay.set(locationId, uploads + 1);
    try {
      const name = request.headers['x-file-name'];
      return await deps.take({
        locationId,
        name: decodeFileName((Array.isArray(name) ? name[0] : name) ?? ''),
        bytes: bodyOf(request),
      });
    } finally {
      // The rest of a file that was refused half-way is thrown away, not cut off: see `bodyOf`.
      request.raw.resume();
      const left = (underWay.get(locationId) ?? 1) - 1;
      if (left === 0) underWay.delete(locationId);
      else underWay.set(locationId, left);
    }
  }

  return (app: FastifyInstance): void => {
    app.removeAllContentTypeParsers();
    app.addContentTypeParser('*', (_request, payload, done) => done(null, payload));

    app.post('/mac/assets', { bodyLimit: MAX_UPLOAD_BYTES }, async (request, reply) => {
      const locationId = await boundLocation(request, deps);
      const verdict = await deps.limits.take(PER_LOCATION, locationId);
      if (!verdict.allowed) throw tooMany(verdict.resetSec);
      if (!['identity', undefined].includes(request.headers['content-encoding']))
        throw new RequestError('UNSUPPORTED_MEDIA_TYPE', {
          message: 'Send the file as it is, without Content-Encoding.',
        });
      cutWhenStalled(request.raw, deps.clock);
      if (Number(request.headers['content-length'] ?? 0) > MAX_UPLOAD_BYTES) throw refusal('too_large');
      const outcome = await take(request, locationId);
      if (outcome.kind === 'refused') throw refusal(outcome.reason);
      return reply.code(201).header('Cache-Control', 'no-store').send({ url: outcome.url });
    });
  };
}

/** Ending the iteration does not destroy the request: a client that is still sending must get the response, not a reset. */
function bodyOf({ body }: FastifyRequest): AsyncIterable<Uint8Array> {
  return body instanceof Readable ? body.iterator({ destroyOnReturn: false }) : Readable.from([]);
}

function refusal(reason: keyof typeof REFUSALS): RequestError {
  const [code, message] = REFUSALS[reason];
  return new RequestError(code, { message });
}

function tooMany(waitSec: number): RequestError {
  return new RequestError(
    'TOO_MANY_REQUESTS',
    { message: 'Too many files at once for this location.' },
    { retryAfterSec: waitSec },
  );
}

function cutWhenStalled(request: IncomingMessage, clock: Clock): void {
  const { socket } = request;
  let read = 0;
  let idleLooks = 0;
  const stop = every(clock, LOOK_MS, () => {
    if (socket.destroyed) return stop();
    idleLooks = socket.bytesRead === read ? idleLooks + 1 : 0;
    read = socket.bytesRead;
    if (idleLooks === STALLED_LOOKS) socket.destroy();
  });
  // From the end of the body on it is the Mac that waits: for the conversion, and for its turn.
  request.once('end', stop);
}

/** The location this device holds at this moment, on any node. */
async function boundLocation(
  request: FastifyRequest,
  { deviceAuth, switchboard, owns }: AssetUploadDeps,
): Promise<string> {
  const token = parseBearerToken(request.headers.authorization) ?? '';
  const device = await deviceAuth.authenticate(token);
  if (device === undefined || device.status === 'inactive' || device.status === 'replaced')
    throw new RequestError(
      'UNAUTHORIZED',
      { message: 'The device token is missing or not valid any more.' },
      { headers: { 'WWW-Authenticate': 'Bearer' } },
    );
  if (device.status === 'suspended') throw new RequestError('LICENSE_SUSPENDED');
  for (const { deviceId, locationId } of await switchboard.boundMacs())
    if (deviceId === device.deviceId && (await owns(locationId, device.licenseId))) return locationId;
  throw new RequestError('CONFLICT', {
    message: 'This Mac holds no location at the moment. Connect and register, then send the file again.',
  });
}
