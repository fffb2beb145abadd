import { randomUUID } from 'node:crypto';

export interface CrmResponse {
  readonly status: number;
  readonly body?: unknown;
  readonly headers?: Record<string, string>;
}

export const EXPIRED = 'Invalid JWT';
export const INVALID_TOKEN = 'Invalid token: access token is invalid';
export const NO_VERSION = 'version header was not found.';
export const FOREIGN_LOCATION = 'The token does not have access to this location.';
export const NOT_IN_SCOPE = 'The token is not authorized for this scope.';
export const WRONG_AUTH_CLASS =
  'This authClass type is not allowed to access this scope. Please reach out to the Marketplace team to update IAM configs.';
export const WRONG_USER_TYPE = "Token's user type mismatch!";
export const NOT_DOWNSTREAMED = 'No conversation provider found for this message';
export const NO_MESSAGE = 'No message found for the id';
export const LOCATION_NOT_ACTIVE = 'Location is not active';
export const NO_DUPLICATES = 'This location does not allow duplicated contacts.';

export function ok(body: object, status = 200): CrmResponse {
  return { status, body: { ...body, traceId: randomUUID() } };
}

export function badRequest(message: string, more: object = {}): CrmResponse {
  return {
    status: 400,
    body: { statusCode: 400, message, error: 'Bad Request', ...more, traceId: randomUUID() },
  };
}

export function unauthorized(message: string): CrmResponse {
  return {
    status: 401,
    body: { statusCode: 401, message, error: 'Unauthorized', traceId: randomUUID() },
  };
}

export function forbidden(message: string): CrmResponse {
  return {
    status: 403,
    body: { statusCode: 403, message, error: 'Forbidden', traceId: randomUUID() },
  };
}

export function unprocessable(...message: string[]): CrmResponse {
  return {
    status: 422,
    body: { statusCode: 422, message, error: 'Unprocessable Entity', traceId: randomUUID() },
  };
}

export function tooManyRequests(): CrmResponse {
  return {
    status: 429,
    body: { statusCode: 429, message: 'Too Many Requests', error: 'Too Many Requests' },
  };
}

export function notFound(method: string, path: string): CrmResponse {
  return {
    status: 404,
    body: { statusCode: 404, message: `Cannot ${method} ${path}`, error: 'Not Found' },
  };
}

/** The token endpoint has its own error format, that of an OAuth library. */
export function oauthError(status: 400 | 401, error: string, description: string): CrmResponse {
  return { status, body: { error, error_description: description, traceId: randomUUID() } };
}
