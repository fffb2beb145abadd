-- Counts one request. KEYS: counter. ARGV: window in ms, amount (0 to peek).
-- Returns the count and the ms left. The expiry is set in the same script, so that no counter stays without one.
local count
if ARGV[2] == '0' then
  count = tonumber(redis.call('GET', KEYS[1]) or '0')
else
  count = redis.call('INCRBY', KEYS[1], ARGV[2])
end
local left = redis.call('PTTL', KEYS[1])
if left < 0 then
  left = tonumber(ARGV[1])
  if count > 0 then redis.call('PEXPIRE', KEYS[1], left) end
end
return { count, left }
