-- Reads the lease of a location. KEYS: lease. Returns {Redis time in ms, node, session, device, epoch}; all but the first are '' without a lease.
local owner = redis.call('HMGET', KEYS[1], 'node', 'session', 'device', 'epoch')
local time = redis.call('TIME')
return { string.format('%.0f', time[1] * 1000 + math.floor(time[2] / 1000)), owner[1] or '', owner[2] or '', owner[3] or '', owner[4] or '' }
