import type { IncomingMessage, RequestOptions } from 'node:http';

/**
 * Sends a request and resolves with the response once its headers have arrived. Does not follow redirects. Uses node:http because Node
 * loads `fetch` on first use, which takes longer than the rest of a command.
 */
export function httpRequest(
  url: string,
  { body, ...options }: Pick<RequestOptions, 'method' | 'headers' | 'signal'> & { body?: string },
): Promise<IncomingMessage> {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  const { request } = process.getBuiltinModule(url.startsWith('https:') ? 'node:https' : 'node:http');
  request(url, options).on('response', resolve).on('error', reject).end(body);
  return promise;
}
