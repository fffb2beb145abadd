-- KEYS[1] the stream; ARGV: the number of entries kept, their lifetime in ms, then the entries.
for index = 3, #ARGV do
  redis.call('XADD', KEYS[1], 'MAXLEN', ARGV[1], '*', 'e', ARGV[index])
end
redis.call('PEXPIRE', KEYS[1], ARGV[2])
