/** RFC 6750 §2.1; the scheme is case-insensitive (RFC 9110 §11.1). */
const BEARER = /^Bearer ([A-Za-z0-9._~+/-]+=*)$/i;

/** Returns the token of an `Authorization: Bearer` header, or undefined if the header is absent or malformed. */
export function parseBearerToken(authorization: string | undefined): string | undefined {
  return authorization === undefined ? undefined : BEARER.exec(authorization)?.[1];
}
