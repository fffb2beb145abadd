-- Takes a location for a line. KEYS: lease, epoch, displacements, refusals (one hash slot).
-- ARGV: node, session, device, ttl ms, window ms, displacements allowed in the window, not after (Redis time in ms), least epoch.
-- Returns {Redis time in ms, 'bound', epoch, former node, former session, former device}, {…, 'contended', refusals} or {…, 'late'}.
local time = redis.call('TIME')
local micros = time[1] * 1000000 + time[2]
local millis = string.format('%.0f', math.floor(micros / 1000))
-- Whoever asked has given up by now, and the Mac is elsewhere.
if micros > tonumber(ARGV[7]) * 1000 then return { millis, 'late' } end
local former = redis.call('HMGET', KEYS[1], 'node', 'session', 'device')
if former[3] and former[3] ~= ARGV[3] then
  local window = tonumber(ARGV[5])
  redis.call('ZREMRANGEBYSCORE', KEYS[3], '-inf', micros - window * 1000)
  local fights = redis.call('ZCARD', KEYS[3])
  if fights == 0 then redis.call('DEL', KEYS[4]) end
  if fights >= tonumber(ARGV[6]) then
    local refusals = redis.call('INCR', KEYS[4])
    redis.call('PEXPIRE', KEYS[4], window)
    return { millis, 'contended', refusals }
  end
  redis.call('ZADD', KEYS[3], micros, string.format('%.0f', micros))
  redis.call('PEXPIRE', KEYS[3], window)
end
-- Microseconds of Redis's clock, and more than any number known here or to the asking node: epochs grow also after Redis lost its memory.
local last = tonumber(redis.call('GET', KEYS[2]) or '0')
local epoch = string.format('%.0f', math.max(micros, last + 1, tonumber(ARGV[8])))
redis.call('SET', KEYS[2], epoch, 'PX', 604800000)
redis.call('HSET', KEYS[1], 'node', ARGV[1], 'session', ARGV[2], 'device', ARGV[3], 'epoch', epoch)
redis.call('PEXPIRE', KEYS[1], ARGV[4])
return { millis, 'bound', epoch, former[1] or '', former[2] or '', former[3] or '' }
