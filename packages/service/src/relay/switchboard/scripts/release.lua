-- Deletes a lease if the session holds it, or any session when none is named. KEYS: lease, epoch, unconfirmed, bound.
-- ARGV: session or '', the node that keeps unconfirmed frames of the device or '', how long it keeps them in ms.
-- Raises the epoch, so that a renewal in flight cannot restore the lease. Returns {node, session} of the holder, or {}.
if ARGV[2] ~= '' then redis.call('SET', KEYS[3], ARGV[2], 'PX', ARGV[3]) end
local owner = redis.call('HMGET', KEYS[1], 'node', 'session', 'epoch')
if not owner[2] or (ARGV[1] ~= '' and owner[2] ~= ARGV[1]) then return {} end
redis.call('DEL', KEYS[1])
-- The next bind asks this node for its calls. The key of the bind may have expired meanwhile.
redis.call('SET', KEYS[4], owner[1], 'PX', 600000)
redis.call('SET', KEYS[2], string.format('%.0f', tonumber(owner[3]) + 1), 'PX', 604800000)
return { owner[1], owner[2] }
