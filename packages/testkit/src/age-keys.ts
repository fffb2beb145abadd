import { createClient } from '@redis/client';

/** Shortens expiries and moves scores, which are times in microseconds, back. */
const AGE = `
local ms = tonumber(ARGV[1])
for _, key in ipairs(KEYS) do
  local left = redis.call('PTTL', key) - ms
  if left <= 0 then
    redis.call('DEL', key)
  else
    redis.call('PEXPIRE', key, left)
    if redis.call('TYPE', key).ok == 'zset' then
      for _, member in ipairs(redis.call('ZRANGE', key, 0, -1)) do
        redis.call('ZINCRBY', key, -ms * 1000, member)
      end
    end
  end
end`;

/** Makes all keys that match the pattern older, since the clock of Redis cannot be set. */
export async function ageKeys(url: string, pattern: string, ms: number): Promise<void> {
  const client = createClient({ url });
  await client.connect();
  const keys = await client.keys(pattern);
  if (keys.length > 0) await client.eval(AGE, { keys, arguments: [String(ms)] });
  client.destroy();
}
