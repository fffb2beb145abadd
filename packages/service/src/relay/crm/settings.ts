import {
  fail,
  isPercentEncoded,
  matching,
  seconds,
  text,
  webAddress,
  wholeNumber,
} from '../../platform/settings/parsers.ts';
import { SECRET, settingIn } from '../../platform/settings/setting.ts';

/** The URL of an HTTP proxy, with credentials if it requires them. The message never quotes the value. */
const proxyAddress = (value: string) => {
  const url = URL.parse(/^[a-z\d+.-]+:\/\//i.test(value) ? value : `http://${value}`);
  if (url === null || !/^https?:$/.test(url.protocol) || url.pathname !== '/' || url.search !== '')
    return fail('must be the http:// or https:// address of a proxy, such as http://proxy.example:3128');
  if (![url.username, url.password].every(isPercentEncoded))
    return fail('must have its user name and password percent-encoded');
  return url.href;
};

const setting = settingIn('CRM');
const limit = settingIn('Limits');

/** How the CRM is called. */
export const CRM = {
  crmHost: setting(
    'CRM_HOSTNAME',
    'https://services.leadconnectorhq.com',
    webAddress,
    'The CRM API this service calls: a host name or an address.',
    { mustBe: 'https' },
  ),
  apiVersion: setting(
    'CRM_API_VERSION',
    '2021-07-28',
    matching(/^(v\d{1,3}|\d{4}-\d{2}-\d{2})$/, 'must be a date such as 2021-07-28, or v3'),
    'The Version header of every call to the CRM.',
  ),
  settleMs: setting(
    'CRM_SETTLE_SEC',
    '20',
    seconds(0, 600),
    'Seconds to wait after a lost response before the first read of the CRM, and after a status call that timed out before the next status of the message: until then the request may still be in flight.',
  ),
  readLagMs: setting(
    'CRM_READ_LAG_SEC',
    '10',
    seconds(0, 600),
    'Seconds between a read that did not find a message and the second read, which decides: reads of the CRM lag behind its writes.',
  ),
  httpsProxy: setting(
    'HTTPS_PROXY',
    undefined,
    proxyAddress,
    'Proxy for calls to https:// addresses of the CRM, such as http://user:password@proxy.example:3128. Calls to this machine itself never use a proxy.',
    { ...SECRET, eitherCase: true },
  ),
  httpProxy: setting('HTTP_PROXY', undefined, proxyAddress, 'The same for http:// addresses.', {
    ...SECRET,
    eitherCase: true,
  }),
  noProxy: setting(
    'NO_PROXY',
    undefined,
    text,
    'Hosts that are called without a proxy, separated by commas: example.com (subdomains included), *.example.com, example.com:8443, or * for all.',
    { eitherCase: true },
  ),
  crmCallsPer10Sec: limit(
    'RATE_LIMIT_CRM_CALLS',
    '90',
    wholeNumber(1, 1_000_000),
    'Our own calls to the CRM per 10 seconds and location; the CRM allows 100.',
  ),
} as const;
