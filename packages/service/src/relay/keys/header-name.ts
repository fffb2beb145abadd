/** HTTP field names that start with a letter. */
const NAME = /^[A-Za-z][A-Za-z0-9!#$%&'*+.^_`|~-]{0,63}$/;

// Names that HTTP uses: a signature in such a header could break the request, be rewritten by a proxy, or lose repeated values.
const RESERVED = new Set(
  `accept accept-charset accept-encoding accept-language age allow authorization cache-control connection
   content-disposition content-encoding content-language content-length content-location content-md5 content-range
   content-type cookie date etag expect expires forwarded from host http2-settings if-match if-modified-since
   if-none-match if-range if-unmodified-since keep-alive last-modified link location max-forwards origin pragma
   proxy-authenticate proxy-authorization proxy-connection range referer retry-after server set-cookie te trailer
   transfer-encoding upgrade user-agent vary via warning www-authenticate x-forwarded-for x-forwarded-host
   x-forwarded-port x-forwarded-proto x-real-ip x-request-id constructor`.split(/\s+/),
);

/** Returns why a header cannot carry signatures, or undefined when it can. */
export function headerProblem(name: string): string | undefined {
  if (!NAME.test(name))
    return 'is not a header name; it must start with a letter and have at most 64 letters, digits and dashes';
  if (RESERVED.has(name.toLowerCase()))
    return `is reserved by HTTP (${name}); use a header for signatures, such as X-CRM-Signature`;
  return undefined;
}
