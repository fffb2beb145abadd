/** Sentinels, and how to reach the primary that they name. */
export interface Sentinels {
  /** URLs of the sentinels. */
  readonly urls: readonly string[];
  /** The name under which they watch the primary. */
  readonly name: string;
  /** Returns the URL of the primary at this address. */
  readonly primaryAt: (host: string, port: string) => string;
}

const SENTINELS =
  /^redis(?<tls>s?)\+sentinel:\/\/(?:(?<user>[^@/]*)@)?(?<hosts>[^@/?]+)\/(?<name>[^/?]+)(?:\/(?<database>\d+))?(?:\?sentinel=(?<auth>[^&]*))?$/;
const HOST = /^(?:\[[\da-f:.]+\]|[^\s:[\]]+)(?::\d+)?$/i;
const DEFAULT_PORT = 26_379;

/**
 * Returns undefined for other URLs. `redis+sentinel://USER:PASSWORD@HOST:26379,HOST:26379/NAME/DATABASE?sentinel=USER:PASSWORD`, where all
 * but the hosts and the name may be missing. The first credentials are for Redis, the last ones for the sentinels.
 */
export function parseSentinels(url: string): Sentinels | undefined {
  const { tls = '', user, hosts = '', name, database, auth } = SENTINELS.exec(url)?.groups ?? {};
  if (name === undefined || !hosts.split(',').every((host) => HOST.test(host))) return undefined;
  const at = (credentials: string | undefined, host: string, path = '') =>
    `redis${tls}://${credentials === undefined ? '' : `${credentials}@`}${host}${path}`;
  return {
    urls: hosts
      .split(',')
      .map((host) => at(auth, /:\d+$/.test(host) && !host.endsWith(']') ? host : `${host}:${DEFAULT_PORT}`)),
    name: decodeURIComponent(name),
    primaryAt: (host, port) =>
      at(user, `${host.includes(':') ? `[${host}]` : host}:${port}`, database && `/${database}`),
  };
}

export const isRedisAddress = (url: string): boolean =>
  /^rediss?:\/\//.test(url) || parseSentinels(url) !== undefined;
