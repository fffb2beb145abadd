const LOOPBACK_HOSTS: ReadonlySet<string> = new Set(['127.0.0.1', '[::1]', 'localhost']);

/**
 * Returns the origin of a BlueBubbles server on this Mac, or undefined for any other URL. The agent reads the message store of this Mac,
 * so another machine would send from another account. Each request also contains the password, without encryption.
 */
export function loopbackOrigin(text: string): string | undefined {
  const url = URL.parse(text);
  if (url === null || url.protocol !== 'http:' || !LOOPBACK_HOSTS.has(url.hostname)) return undefined;
  const hasMore = url.pathname !== '/' || url.search !== '' || url.username !== '' || url.password !== '';
  return hasMore ? undefined : url.origin;
}
