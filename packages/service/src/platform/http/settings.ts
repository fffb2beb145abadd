import { fail, matching, seconds, text, webAddress, wholeNumber } from '../settings/parsers.ts';
import { SECRET, settingIn } from '../settings/setting.ts';
import type { Findings, ValuesOf } from '../settings/setting.ts';

/** `false`, a number of proxies, or a list of addresses and networks (L7). */
const trustProxy = (value: string): false | number | string[] => {
  if (value === 'false' || value === '0') return false;
  if (/^\d$/.test(value)) return Number(value);
  const list = value.split(',').map((part) => part.trim());
  const known = /^(loopback|linklocal|uniquelocal|[\da-fA-F.:]+(\/\d{1,3})?)$/;
  return list.every((part) => known.test(part) && part !== '')
    ? list
    : fail(
        'must be false, a number of proxies from 1 to 9, or a list of addresses and networks such as 10.0.0.0/8',
      );
};

const hostNames = (value: string): string[] => {
  const names = value.split(',').map((name) => name.trim());
  return names.every((name) => /^[a-z\d_-]+(\.[a-z\d_-]+)*$/i.test(name))
    ? names
    : fail('must be a list of host names without ports, such as console.example.com,bridge.internal');
};

const setting = settingIn('Listeners');
const limit = settingIn('Limits');

/** Settings of the two listeners. */
export const HTTP = {
  port: setting(
    'PORT',
    '4600',
    wholeNumber(0, 65_535),
    'Port of the public listener: CRM, OAuth, Macs, assets, health.',
  ),
  host: setting('HOST', '0.0.0.0', text, 'Address the public listener binds to.'),
  adminPort: setting(
    'ADMIN_PORT',
    '4610',
    wholeNumber(0, 65_535),
    'Port of the operator listener: console, API, metrics, probes, documents.',
  ),
  adminHost: setting(
    'ADMIN_HOST',
    '127.0.0.1',
    text,
    'Address the operator listener binds to. Keep it private.',
  ),
  adminAllowedHosts: setting(
    'ADMIN_ALLOWED_HOSTS',
    undefined,
    hostNames,
    'Host names under which the operator listener is called, besides that of BASE_URL. localhost, names without a dot and IP addresses are always allowed.',
  ),
  baseUrl: setting(
    'BASE_URL',
    undefined,
    webAddress,
    'Public address of this service, used for the links to assets given to the CRM. Default: http://127.0.0.1 and the port.',
  ),
  trustProxy: setting(
    'TRUST_PROXY',
    'false',
    trustProxy,
    'Which proxies may set X-Forwarded-For: false, a number of proxies, or addresses and networks.',
  ),
  drainGraceMs: setting(
    'DRAIN_GRACE_SEC',
    '2',
    seconds(0, 60),
    'Seconds a stopping node keeps accepting requests after /readyz fails (several nodes only), and seconds it then keeps idle connections open.',
  ),
  operatorToken: setting(
    'OPERATOR_TOKEN',
    undefined,
    matching(/^\S{16,}$/, 'must have at least 16 characters and no spaces'),
    'Bearer token of the operator API. Default: generated at the first start and stored in DATA_DIR/operator-token.',
    { ...SECRET, mustBe: 'random' },
  ),
  healthPerMinute: limit(
    'RATE_LIMIT_HEALTH',
    '30',
    wholeNumber(1, 1_000_000),
    'GET /health per minute and address.',
  ),
  healthProbePerMinute: limit(
    'RATE_LIMIT_HEALTH_PROBE',
    '15',
    wholeNumber(1, 1_000_000),
    'GET /health?pm2= per minute and address.',
  ),
} as const;

type HttpSettings = ValuesOf<typeof HTTP>;

export function listenerFindings({ port, adminPort, host, adminHost }: Partial<HttpSettings>): Findings {
  const isSameHost = host === adminHost || [host, adminHost].some(isEveryAddress);
  if (port === 0 || port !== adminPort || !isSameHost) return {};
  return { problems: ['ADMIN_PORT must differ from PORT: both listeners would use the same address'] };
}

const isEveryAddress = (host: string | undefined) => host === '0.0.0.0' || host === '::';

/** The host names under which the operator listener is called. */
export const operatorHosts = ({
  baseUrl,
  adminAllowedHosts = [],
}: Pick<HttpSettings, 'baseUrl' | 'adminAllowedHosts'>): readonly string[] => [
  ...(baseUrl === undefined ? [] : [new URL(baseUrl).hostname]),
  ...adminAllowedHosts,
];
