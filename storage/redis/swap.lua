-- Replaces columns, each if it is what is expected. KEYS: the row of each. ARGV, for each: column; new
-- value; something, and nothing where no column is expected; old value. Returns for each 1, or what is
-- there instead. All are read before any is written, so that a row of another kind is an error of which
-- nothing was done. No column stands here twice.
local is = {}
for i = 1, #KEYS do
  is[i] = redis.call('HGET', KEYS[i], ARGV[4 * i - 3])
end
for i = 1, #KEYS do
  if is[i] == (ARGV[4 * i - 1] ~= '' and ARGV[4 * i]) then
    redis.call('HSET', KEYS[i], ARGV[4 * i - 3], ARGV[4 * i - 2])
    is[i] = 1
  end
end
return is
