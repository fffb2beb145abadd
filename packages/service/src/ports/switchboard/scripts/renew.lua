-- Keeps a lease. KEYS: lease, epoch. ARGV: node, session, device, epoch, ttl ms.
-- Returns {'kept', Redis time in ms} or {'lost', device of the owner, or '' when the location was given up}.
local owner = redis.call('HMGET', KEYS[1], 'session', 'device')
local time = redis.call('TIME')
local millis = string.format('%.0f', time[1] * 1000 + math.floor(time[2] / 1000))
if owner[1] == ARGV[2] then
  redis.call('PEXPIRE', KEYS[1], ARGV[5])
  return { 'kept', millis }
end
if owner[1] then return { 'lost', owner[2] } end
-- Nobody holds it. Redis forgot us (restart, flush), or our lease ran out while we were away: it is ours again unless somebody was here since.
local last = redis.call('GET', KEYS[2])
if last and tonumber(last) ~= tonumber(ARGV[4]) then return { 'lost', '' } end
redis.call('SET', KEYS[2], ARGV[4], 'PX', 604800000)
redis.call('HSET', KEYS[1], 'node', ARGV[1], 'session', ARGV[2], 'device', ARGV[3], 'epoch', ARGV[4])
redis.call('PEXPIRE', KEYS[1], ARGV[5])
return { 'kept', millis }
