-- Reads the lease of a location. KEYS: lease, since when Redis has its data. Returns {Redis time in ms, node, session, device, epoch}, or
-- without a lease {Redis time in ms, for how many ms Redis has had its data}.
local owner = redis.call('HMGET', KEYS[1], 'node', 'session', 'device', 'epoch')
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local millis = string.format('%.0f', now)
if owner[1] then return { millis, owner[1], owner[2], owner[3], owner[4] } end
local since = tonumber(redis.call('GET', KEYS[2]) or now)
-- The clock was set back.
if since > now then since = now end
redis.call('SET', KEYS[2], string.format('%.0f', since), 'PX', 600000)
return { millis, string.format('%.0f', now - since) }
