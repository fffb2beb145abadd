-- Binds a location to a connection. KEYS: lease, epoch, displacements, rejections, unconfirmed, bound (one hash slot).
-- ARGV: node, session, device, ttl ms, window ms, displacements allowed in the window, deadline (Redis time in ms), minimum epoch.
-- Returns {Redis time in ms, 'bound', epoch, previous node, previous session, previous device, node with unconfirmed frames of the device,
-- node of the last bind, also when its lease is gone},
-- {…, 'contended', rejections} or {…, 'late'}.
local time = redis.call('TIME')
local micros = time[1] * 1000000 + time[2]
local millis = string.format('%.0f', math.floor(micros / 1000))
-- The caller has timed out, and the Mac has reconnected elsewhere.
if micros > tonumber(ARGV[7]) * 1000 then return { millis, 'late' } end
local previous = redis.call('HMGET', KEYS[1], 'node', 'session', 'device')
if previous[3] and previous[3] ~= ARGV[3] then
  local window = tonumber(ARGV[5])
  redis.call('ZREMRANGEBYSCORE', KEYS[3], '-inf', micros - window * 1000)
  local displacements = redis.call('ZCARD', KEYS[3])
  if displacements == 0 then redis.call('DEL', KEYS[4]) end
  if displacements >= tonumber(ARGV[6]) then
    local rejections = redis.call('INCR', KEYS[4])
    redis.call('PEXPIRE', KEYS[4], window)
    return { millis, 'contended', rejections }
  end
  redis.call('ZADD', KEYS[3], micros, string.format('%.0f', micros))
  redis.call('PEXPIRE', KEYS[3], window)
end
-- Microseconds of Redis's clock, but above every epoch known here or to the calling node: epochs grow also after Redis lost its data.
local last = tonumber(redis.call('GET', KEYS[2]) or '0')
local epoch = string.format('%.0f', math.max(micros, last + 1, tonumber(ARGV[8])))
redis.call('SET', KEYS[2], epoch, 'PX', 604800000)
redis.call('HSET', KEYS[1], 'node', ARGV[1], 'session', ARGV[2], 'device', ARGV[3], 'epoch', epoch)
redis.call('PEXPIRE', KEYS[1], ARGV[4])
local bound = previous[1] or redis.call('GET', KEYS[6]) or ''
redis.call('SET', KEYS[6], ARGV[1], 'PX', 600000)
return { millis, 'bound', epoch, previous[1] or '', previous[2] or '', previous[3] or '', redis.call('GET', KEYS[5]) or '', bound }
