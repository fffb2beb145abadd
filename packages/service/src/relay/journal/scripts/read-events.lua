-- KEYS[1] the stream; ARGV: the id after which to read, or '$' for none; the number of entries.
-- Returns the newest id, the entry with the given id if it is kept, and those after it.
local newest = redis.call('XREVRANGE', KEYS[1], '+', '-', 'COUNT', 1)
local last = newest[1] and newest[1][1] or '0-0'
local after = ARGV[1]
if after == '$' then
  return { last, {}, {} }
end
local entries = redis.call('XRANGE', KEYS[1], '(' .. after, '+', 'COUNT', ARGV[2])
return { last, redis.call('XRANGE', KEYS[1], after, after), entries }
