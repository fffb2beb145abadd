import type { Log } from '@footbridge/runtime/log';
import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify';

import { EngineError, RequestError } from '../errors.ts';
import { errorResponse } from './error-response.ts';

/** Sends the body of an error in another form. Returns false when the client wants JSON. */
export type SendOtherwise = (error: RequestError, request: FastifyRequest, reply: FastifyReply) => boolean;

/** Fastify's error handler: logs failures of the service and sends every error through `errorResponse`. */
export function renderError(log: Log, sendOtherwise: SendOtherwise = () => false) {
  return (error: unknown, request: FastifyRequest, reply: FastifyReply): void => {
    const known = classify(error);
    if (known.status >= 500)
      log.error(
        { event: 'http.request_failed', requestId: request.id, route: request.routeOptions.url, err: error },
        'request failed',
      );
    const { status, headers, body } = errorResponse(known, request.id);
    void reply.code(status).headers(headers);
    if (sendOtherwise(known, request, reply)) return;
    void reply.type('application/json; charset=utf-8').send(body);
  };
}

function classify(error: unknown): RequestError {
  if (error instanceof RequestError) return error;
  if (error instanceof EngineError) return new RequestError('SERVICE_UNAVAILABLE', {}, { cause: error });
  const status = fromFramework(error)?.statusCode ?? 500;
  if (status === 413) return new RequestError('PAYLOAD_TOO_LARGE');
  if (status === 415) return new RequestError('UNSUPPORTED_MEDIA_TYPE');
  if (status >= 400 && status < 500) return new RequestError('INVALID_REQUEST', {}, { status: 400 });
  return new RequestError('INTERNAL_ERROR', {}, { cause: error });
}

const fromFramework = (error: unknown): FastifyError | undefined =>
  error instanceof Error && 'statusCode' in error && 'code' in error ? (error as FastifyError) : undefined;
