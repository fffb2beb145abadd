-- Gives a lease up if it is still ours (or whoever's it is, when no session is named). KEYS: lease, epoch. ARGV: session.
-- Raises the epoch, so that a renewal that was under way cannot take it back. Returns {node, session} of who held it, or {}.
local owner = redis.call('HMGET', KEYS[1], 'node', 'session', 'epoch')
if not owner[2] or (ARGV[1] ~= '' and owner[2] ~= ARGV[1]) then return {} end
redis.call('DEL', KEYS[1])
redis.call('SET', KEYS[2], string.format('%.0f', tonumber(owner[3]) + 1), 'PX', 604800000)
return { owner[1], owner[2] }
