-- Renews leases of one node. KEYS: lease and epoch of each (one hash slot). ARGV: node, ttl ms, deadline (Redis time in ms), then session, device and epoch of each.
-- Returns {Redis time in ms, outcome of each}: 'kept'; 'restored' when Redis had lost it; 'lost' when the location was released;
-- 'lost:' and the device that holds it; 'late' when the deadline has passed.
local time = redis.call('TIME')
local millis = time[1] * 1000 + math.floor(time[2] / 1000)
local result = { string.format('%.0f', millis) }
local isLate = millis > tonumber(ARGV[3])

local function restore(lease, epoch, at)
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
    -- Redis lost its data, and a node with an older epoch restored its lease first.
    if tonumber(owner[3]) < mine then return restore(lease, epoch, at) end
    return 'lost:' .. owner[2]
  end
  -- No lease: Redis lost it (restart, flush). Restore it unless a newer one has existed since.
  local last = redis.call('GET', epoch)
  if last and tonumber(last) > mine then return 'lost' end
  return restore(lease, epoch, at)
end

for index = 1, #KEYS, 2 do
  local at = 4 + (index - 1) / 2 * 3
  result[#result + 1] = isLate and 'late' or keep(KEYS[index], KEYS[index + 1], at)
end
return result
