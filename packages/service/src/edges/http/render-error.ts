import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify';

import { EngineError, RequestError } from '../../errors.ts';
import type { Logger } from '../../log.ts';

/** Every refusal as the caller sees it: label, code and details. What is our fault shows an id and nothing else (W19). */
export function renderError(log: Logger) {
  return (error: unknown, request: FastifyRequest, reply: FastifyReply): void => {
    const known = classify(error);
    if (known.status >= 500)
      log.error({ requestId: request.id, route: request.routeOptions.url, err: error }, 'request failed');
    void reply
      .code(known.status)
      .headers(known.headers)
      .send({
        error: known.label,
        code: known.code,
        ...known.details,
        ...(known.status >= 500 && { requestId: request.id }),
      });
  };
}

function classify(error: unknown): RequestError {
  if (error instanceof RequestError) return error;
  if (error instanceof EngineError)
    return new RequestError('SERVICE_UNAVAILABLE', {}, { headers: { 'Retry-After': '2' }, cause: error });
  const status = fromFramework(error)?.statusCode ?? 500;
  if (status === 413) return new RequestError('PAYLOAD_TOO_LARGE');
  if (status === 415) return new RequestError('UNSUPPORTED_MEDIA_TYPE');
  if (status >= 400 && status < 500) return new RequestError('INVALID_REQUEST', {}, { status: 400 });
  return new RequestError('INTERNAL_ERROR', {}, { cause: error });
}

const fromFramework = (error: unknown): FastifyError | undefined =>
  error instanceof Error && 'statusCode' in error && 'code' in error ? (error as FastifyError) : undefined;
