import { list, nullable, object, strict } from '../schema.ts';
import { call } from './call.ts';
import {
  atMost,
  count,
  countOrNull,
  cursor,
  detail,
  flag,
  liveness,
  next,
  oneOf,
  page,
  rowId,
  text,
  textOrNull,
  time,
  timeOrNull,
  upTo,
} from './parts.ts';

const LINKS = [
  'installed',
  'webhook',
  'grant',
  'mac',
  'messages',
  'permissions',
  'queue',
  'traffic',
  'crm',
] as const;
const link = oneOf(...LINKS);

export const listTenants = call('GET', '/operator/tenants', {
  summary: 'Whether each tenant can text, link by link',
  locations: 'filtered',
  query: strict({}, { search: atMost(256), limit: upTo(10_000), after: page.after }),
  response: object(
    {
      total: count,
      broken: count,
      found: count,
      tenants: list(
        object(
          {
            locationId: text,
            license: textOrNull,
            claimed: flag,
            liveness,
            links: list(
              object({
                name: link,
                state: oneOf('ok', 'waiting', 'unknown', 'broken'),
                sentence: text,
                since: timeOrNull,
              }),
            ),
            problem: nullable(object({ link, sentence: text, action: text, since: timeOrNull })),
          },
          { name: text },
        ),
      ),
    },
    next,
  ),
  notes:
    'The links are in the order in which a message uses them. Their state is `ok`, `waiting` (not used yet), `unknown` (the Mac has not reported it) or `broken`; `problem` is the first broken one. Tenants with a problem are first. `search` looks in the name, the location id and the license; `total` and `broken` count all tenants, `found` those that match. `limit` is at most 10,000.',
});

export const listIssues = call('GET', '/operator/issues', {
  summary: 'What is wrong, since when, and what to do',
  locations: 'filtered',
  query: strict({}, { state: oneOf('open', 'closed'), ...page }),
  response: object(
    {
      issues: list(
        object({
          id: text,
          kind: text,
          locationIds: nullable(list(text)),
          sentence: text,
          action: text,
          since: time,
          closedAt: timeOrNull,
          reopened: count,
        }),
      ),
    },
    next,
  ),
  notes:
    '`state` is `open` by default. An issue that opens again within an hour is the same one; `reopened` is how often it did. The issues of all nodes; `locationIds` is null when all locations are affected, and `closedAt` is null while the issue is open. The oldest open issue is first, and the newest closed one; `limit` is 200 for closed ones unless it is given. [The kinds](operate.md#issues).',
});

export const showAlerts = call('GET', '/operator/alerts', {
  summary: 'Where alerts are sent to, how many wait and why',
  locations: 'none',
  response: object({
    receivers: list(
      object({ name: text, target: text, pending: count, lastSentAt: timeOrNull, lastError: textOrNull }),
    ),
  }),
});

export const testAlerts = call('POST', '/operator/alerts/test', {
  summary: 'Send a test alert to every receiver',
  locations: 'none',
  response: object({ results: list(object({ name: text, target: text, sent: flag, error: textOrNull })) }),
});

const direction = object({ total: count, delivered: count, failed: count });

export const showOverview = call('GET', '/operator/overview', {
  summary: 'The last 24 hours',
  locations: 'filtered',
  response: object({
    macs: object({ connected: count, expected: count }),
    openIssues: count,
    bucketSec: count,
    buckets: list(
      object({ from: time, outbound: direction, inbound: direction, openIssues: count, macs: countOrNull }),
    ),
    failures: list(object({ direction: oneOf('outbound', 'inbound'), code: textOrNull, count })),
    hops: list(object({ name: text, messages: count, p95Ms: { type: 'number' } })),
  }),
  notes:
    'A bucket is half an hour; `macs` is what this node saw, null when it did not run, or when the token is for some locations. `hops` has the 95th percentile of each hop over the newest 500 messages, the slowest first.',
});

export const listAudit = call('GET', '/operator/audit', {
  summary: 'Who changed what, newest first',
  locations: 'none',
  query: strict(
    {},
    { limit: upTo(200), before: { ...rowId, description: 'the cursor of the previous page' } },
  ),
  response: object({
    entries: list(
      object({
        id: text,
        at: time,
        actor: oneOf('operator', 'mac'),
        name: textOrNull,
        action: text,
        target: text,
        detail,
      }),
    ),
    cursor: textOrNull,
  }),
  notes: '`limit` is 50 by default. `name` is the label of the token of the operator.',
});

const called = { url: text, status: count, ms: count };
const probe = object(called, { code: text, clockSkewSec: nullable({ type: 'integer' }) });

export const showDiagnosis = call('GET', '/operator/diagnosis', {
  summary: 'What `footbridge doctor` needs from the service',
  locations: 'none',
  response: object({
    version: text,
    uptimeSec: count,
    settings: object({
      warnings: list(text),
      oauth: oneOf('ready', 'incomplete', 'disabled'),
      missing: list(text),
      baseUrl: textOrNull,
      crmHost: text,
      conversationProviderId: textOrNull,
      inboundType: text,
      database: oneOf('sqlite', 'postgres'),
      nodes: oneOf('one', 'several'),
    }),
    crm: probe,
    publicAddress: object(
      { ...called, identity: oneOf('this', 'other', 'unknown') },
      { code: text, clockSkewSec: nullable({ type: 'integer' }) },
    ),
  }),
  notes:
    '`crm` and `publicAddress` are what calls from the service to the CRM and to its own public address found; without a response `status` is 0 and `code` says why. `publicAddress.identity` is `this` (this process responded), `other` (another Footbridge), or `unknown`.',
});

export const countAssets = call('GET', '/operator/assets', {
  summary: 'The number and total size of stored attachments',
  locations: 'none',
  query: strict({}, { locationId: cursor, licenseId: rowId }),
  response: object({ count, bytes: count }),
  notes: '`licenseId`: those that the Macs of this license sent. Only one of the two is used.',
});
