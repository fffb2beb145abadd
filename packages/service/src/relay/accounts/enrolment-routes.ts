import { parseBearerToken } from '@footbridge/protocol/bearer-token';
import type { EnrolmentCode } from '@footbridge/protocol/codes';
import { exceedsJsonLimits } from '@footbridge/protocol/json-size';
import type { FastifyInstance, FastifyRequest } from 'fastify';

import { RequestError } from '../../platform/errors.ts';
import type { RequestErrorOptions } from '../../platform/errors.ts';
import type { Enrolment, Paired } from './activate-device.ts';
import type { Limit, Limits, Verdict } from '../../platform/limits/limits.ts';

export interface EnrolmentRoutesDeps {
  readonly enrolment: Pick<Enrolment, 'activate' | 'deactivate' | 'pair'>;
  readonly limits: Limits;
  /** Returns the rate limit key of an address. */
  readonly addressKey: (address: string) => string;
  readonly perMinute: number;
}

/** Thirty wrong keys, codes or tokens lock an address out until the minute is over. A license key has 140 bits, a pairing code 40. */
const WRONG: Limit = { name: 'enrolment-wrong', max: 30, windowSec: 60 };
const BODY_LIMIT = 16_384;
/** Anyone can send a body, and it is parsed before the rate limit applies (T54). */
const JSON_LIMITS = { brackets: 64, names: 64, commas: 64 } as const;

/** `POST /mac/activate`, `POST /mac/deactivate` (M7) and `POST /mac/pair` (M12). */
export function enrolmentRoutes({ enrolment, limits, addressKey, perMinute }: EnrolmentRoutesDeps) {
  const attempts: Limit = { name: 'enrolment', max: perMinute, windowSec: 60 };

  async function limit(key: string): Promise<void> {
    const wrong = await limits.peek(WRONG, key);
    if (wrong.remaining === 0)
      throw tooMany(
        wrong,
        'Too many wrong license keys, pairing codes or tokens from this address. Wait a minute.',
      );
    const verdict = await limits.take(attempts, key);
    if (!verdict.allowed) throw tooMany(verdict, 'Too many activations from this address. Wait a minute.');
  }

  return (app: FastifyInstance): void => {
    readAnyBodyAsJson(app);

    app.post('/mac/activate', { bodyLimit: BODY_LIMIT }, async (request, reply) => {
      const key = addressKey(request.ip);
      await limit(key);
      const outcome = await enrolment.activate(request.body);
      if (outcome.kind === 'rejected_key') await limits.take(WRONG, key);
      if (outcome.kind !== 'activated') throw notActivated(outcome);
      const { deviceToken, seats, again } = outcome;
      return reply
        .code(again ? 200 : 201)
        .header('Cache-Control', 'no-store')
        .send({ deviceToken, seats });
    });

    app.post('/mac/pair', { bodyLimit: BODY_LIMIT }, async (request, reply) => {
      const key = addressKey(request.ip);
      await limit(key);
      const outcome = await enrolment.pair(request.body);
      if (isCodeProblem(outcome.kind)) await limits.take(WRONG, key);
      if (outcome.kind !== 'activated') throw notActivated(outcome);
      const { deviceToken, seats, locationId, again } = outcome;
      return reply
        .code(again ? 200 : 201)
        .header('Cache-Control', 'no-store')
        .send({ deviceToken, seats, locationId });
    });

    app.post('/mac/deactivate', { bodyLimit: BODY_LIMIT }, async (request, reply) => {
      const key = addressKey(request.ip);
      await limit(key);
      const token = parseBearerToken(request.headers.authorization) ?? '';
      if (await enrolment.deactivate(token)) return reply.code(204).send();
      await limits.take(WRONG, key);
      throw rejection(
        'UNAUTHORIZED',
        { message: 'The device token is missing or no longer valid.' },
        { headers: { 'WWW-Authenticate': 'Bearer' } },
      );
    });

    app.get('/mac/socket', async () => {
      throw rejection(
        'UPGRADE_REQUIRED',
        { message: 'This path accepts WebSocket connections only.' },
        { headers: { Upgrade: 'websocket', Connection: 'Upgrade' } },
      );
    });
  };
}

/** Parses the body as JSON whatever its Content-Type; an empty body is allowed. */
function readAnyBodyAsJson(app: FastifyInstance): void {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', { parseAs: 'buffer' }, async (_request: FastifyRequest, body: Buffer) => {
    if (body.length === 0) return undefined;
    const json = exceedsJsonLimits(body, JSON_LIMITS) ? undefined : readJson(body);
    if (json === undefined)
      throw rejection('INVALID_REQUEST', { message: 'The body must be a JSON object.' });
    return json.value;
  });
}

function readJson(body: Buffer): { readonly value: unknown } | undefined {
  try {
    return { value: JSON.parse(body.toString()) };
  } catch {
    return undefined;
  }
}

const CODE_PROBLEMS = {
  unknown_code: 'PAIRING_CODE_INVALID',
  used_code: 'PAIRING_CODE_USED',
  expired_code: 'PAIRING_CODE_EXPIRED',
} as const;
const isCodeProblem = (kind: string): kind is keyof typeof CODE_PROBLEMS =>
  Object.hasOwn(CODE_PROBLEMS, kind);

function notActivated(outcome: Exclude<Paired, { kind: 'activated' }>): RequestError {
  if (isCodeProblem(outcome.kind)) return rejection(CODE_PROBLEMS[outcome.kind]);
  if (outcome.kind === 'invalid') return rejection('INVALID_REQUEST', { message: outcome.fault });
  if (outcome.kind === 'suspended') return rejection('LICENSE_SUSPENDED');
  if (outcome.kind === 'exhausted') return rejection('SEATS_EXHAUSTED', { seats: outcome.seats });
  if (outcome.kind === 'too_many')
    return rejection(
      'TOO_MANY_REQUESTS',
      {
        message: `This license was used for ${outcome.max} activations today, as many as its seats allow. It can be used again from 00:00 UTC on. A Mac that activates again and again loses its data folder: the operator finds it with footbridge device list.`,
      },
      { retryAfterSec: outcome.retryAfterSec },
    );
  if (outcome.kind === 'device_revoked')
    return rejection('LICENSE_INVALID', { message: 'The operator revoked this Mac.' });
  return rejection('LICENSE_INVALID', {
    message: 'Check the key for typing errors, or ask your operator for a new one.',
  });
}

function tooMany(verdict: Verdict, message: string): RequestError {
  return rejection('TOO_MANY_REQUESTS', { message }, { retryAfterSec: verdict.resetSec });
}

function rejection(
  code: EnrolmentCode,
  details: Record<string, unknown> = {},
  options: RequestErrorOptions = {},
): RequestError {
  return new RequestError(code, details, { channel: 'enrolment', ...options });
}
