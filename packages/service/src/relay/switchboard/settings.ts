import { isRedisAddress } from '../../platform/redis/redis-address.ts';
import { fail, matching } from '../../platform/settings/parsers.ts';
import { SECRET, settingIn, without } from '../../platform/settings/setting.ts';
import type { Findings, Given, ValuesOf } from '../../platform/settings/setting.ts';
import { isPostgres } from '../../platform/sql/settings.ts';
import type { STORAGE } from '../../platform/sql/settings.ts';

const redisAddress = (value: string) =>
  isRedisAddress(value)
    ? value
    : fail('must start with redis:// or rediss://, or be redis+sentinel://HOST:26379,HOST:26379/NAME');

const setting = settingIn('Storage');

/** What several nodes share. */
export const CLUSTER = {
  redisUrl: setting(
    'REDIS_URL',
    undefined,
    redisAddress,
    'Redis or Valkey, required for several nodes; with Sentinel redis+sentinel://HOST:26379,HOST:26379/NAME. Default: one node, state in memory.',
    SECRET,
  ),
  nodeSecret: setting(
    'NODE_SECRET',
    undefined,
    matching(/^.{16,}$/, 'must have at least 16 characters'),
    'Secret shared by all nodes; encrypts the messages between them in Redis. Default: generated once and stored in the shared PostgreSQL. Required with REDIS_URL and without PostgreSQL.',
    { ...SECRET, mustBe: 'random' },
  ),
} as const;

export function clusterFindings(
  { redisUrl, nodeSecret, databaseUrl }: Partial<ValuesOf<typeof CLUSTER & typeof STORAGE>>,
  given: Given,
): Findings {
  if (redisUrl === undefined) return { warnings: without('REDIS_URL', given, /^NODE_SECRET$/) };
  if (nodeSecret !== undefined || isPostgres(databaseUrl)) return {};
  return {
    problems: [
      'NODE_SECRET is required with REDIS_URL when DATABASE_URL is not PostgreSQL: the nodes have no other common secret, and a program that can write to Redis could forge their messages; set it to the same random text of 16 or more characters on every node, or set DATABASE_URL to a PostgreSQL',
    ],
  };
}
