-- Keeps leases of one node. KEYS: lease and epoch of each (one hash slot). ARGV: node, ttl ms, not after (Redis time in ms), then session, device and epoch of each.
-- Returns {Redis time in ms, outcome of each}: 'kept'; 'restored' after Redis had forgotten it; 'lost' when the location was given up;
-- 'lost:' and the device that took it; 'late' when whoever asked has given up by now.
local time = redis.call('TIME')
local millis = time[1] * 1000 + math.floor(time[2] / 1000)
local answer = { string.format('%.0f', millis) }
local isLate = millis > tonumber(ARGV[3])

local function take(lease, epoch, at)
  redis.call('SET', epoch, ARGV[at + 2], 'PX', 604800000)
  redis.call('HSET', lease, 'node', ARGV[1], 'session', ARGV[at], 'device', ARGV[at + 1], 'epoch', ARGV[at + 2])
  redis.call('PEXPIRE', lease, ARGV[2])
  return 'restored'
end

local function keep(lease, epoch, at)
  local owner = redis.call('HMGET', lease, 'session', 'device', 'epoch')
  if owner[1] == ARGV[at] then
    redis.call('PEXPIRE', lease, ARGV[2])
    return 'kept'
  end
  local mine = tonumber(ARGV[at + 2])
  if owner[1] then
    -- Redis forgot everything and somebody with an older number was faster to come back.
    if tonumber(owner[3]) < mine then return take(lease, epoch, at) end
    return 'lost:' .. owner[2]
  end
  -- Nobody holds it: Redis forgot us (restart, flush). It is ours again unless somebody was here since.
  local last = redis.call('GET', epoch)
  if last and tonumber(last) > mine then return 'lost' end
  return take(lease, epoch, at)
end

for index = 1, #KEYS, 2 do
  local at = 4 + (index - 1) / 2 * 3
  answer[#answer + 1] = isLate and 'late' or keep(KEYS[index], KEYS[index + 1], at)
end
return answer
