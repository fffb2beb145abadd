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
/** Maximum concurrent uploads per location: the listener takes a thousand requests, and one tenant must not use them all. */
const MAX_CONCURRENT = 50;
/** An upload is aborted after this many checks in a row without new bytes. */
const MAX_IDLE_CHECKS = 10;
const CHECK_INTERVAL_MS = 1000;
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
} as const;

/** `POST /mac/assets`: stores a file that a Mac received while it is read from the socket. */
export function assetUploadRoutes(deps: AssetUploadDeps) {
  const inProgress = new Map<string, number>();

  async function take(request: FastifyRequest, locationId: string): Promise<UploadOutcome> {
    const uploads = inProgress.get(locationId) ?? 0;
    if (uploads >= MAX_CONCURRENT) throw tooMany(1);
    inProgress.set(locationId, uploads + 1);
    try {
      const name = request.headers['x-file-name'];
      return await deps.take({
        locationId,
        name: decodeFileName((Array.isArray(name) ? name[0] : name) ?? ''),
        bytes: bodyOf(request),
      });
    } finally {
      // Reads and discards the rest of a rejected file, so that the client gets the response: see `bodyOf`.
      request.raw.resume();
      const left = (inProgress.get(locationId) ?? 1) - 1;
      if (left === 0) inProgress.delete(locationId);
      else inProgress.set(locationId, left);
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
      abortWhenStalled(request.raw, deps.clock);
      if (Number(request.headers['content-length'] ?? 0) > MAX_UPLOAD_BYTES) throw uploadError('too_large');
      const outcome = await take(request, locationId);
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
    { message: 'Too many uploads at once for this location.' },
    { retryAfterSec: waitSec },
  );
}

function abortWhenStalled(request: IncomingMessage, clock: Clock): void {
  const { socket } = request;
  let read = 0;
  let idleChecks = 0;
  const stop = every(clock, CHECK_INTERVAL_MS, () => {
    if (socket.destroyed) return stop();
    idleChecks = socket.bytesRead === read ? idleChecks + 1 : 0;
    read = socket.bytesRead;
    if (idleChecks === MAX_IDLE_CHECKS) socket.destroy();
  });
  // Once the body is complete, the Mac waits for the conversion and sends nothing more.
  request.once('end', stop);
}

/** Returns the location that this device holds now, on any node. */
async function boundLocation(
  request: FastifyRequest,
  { deviceAuth, switchboard, owns }: AssetUploadDeps,
): Promise<string> {
  const token = parseBearerToken(request.headers.authorization) ?? '';
  const device = await deviceAuth.authenticate(token);
  if (device === undefined || device.status === 'inactive' || device.status === 'replaced')
    throw new RequestError(
      'UNAUTHORIZED',
      { message: 'The device token is missing or no longer valid.' },
      { headers: { 'WWW-Authenticate': 'Bearer' } },
    );
  if (device.status === 'suspended') throw new RequestError('LICENSE_SUSPENDED');
  for (const { deviceId, locationId } of await switchboard.boundMacs())
    if (deviceId === device.deviceId && (await owns(locationId, device.licenseId))) return locationId;
  throw new RequestError('CONFLICT', {
    message: 'This Mac does not hold a location now. Connect and register, then send the file again.',
  });
}
