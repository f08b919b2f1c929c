-- Adds and deletes columns of one row. See doc.go for what a member is.
-- ARGV: timestamp, 8 bytes; TTL in seconds, 0 for none; number of additions; for each of
-- them column and value; columns to be deleted. Columns are escaped, without their end.
local key, stamp, ttl, adds = KEYS[1], ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3])

local second
local function now()
  second = second or tonumber(redis.call('TIME')[1])
  return second
end

-- The parts of a member that stand behind its column, which has so many bytes.
local function parts(member, column)
  return string.sub(member, column + 3, column + 10), struct.unpack('>I4', member, column + 11), string.sub(member, column + 15)
end

local function find(column)
  return redis.call('ZRANGEBYLEX', key, '[' .. column .. '\0\1', '(' .. column .. '\0\2', 'LIMIT', 0, 1)[1]
end

-- Whether bytes a come before b. The operator < goes by the server's locale.
local function before(a, b)
  for i = 1, math.min(#a, #b) do
    local x, y = string.byte(a, i), string.byte(b, i)
    if x ~= y then return x < y end
  end
  return #a < #b
end

if adds > 0 then
  -- A row has an end if all of its columns have one, and no earlier one than they.
  local left = redis.call('PTTL', key)
  local ends = 0
  if ttl > 0 then
    ends = now() + ttl + 1
    if ends > 4294967295 then ends = 0 end
  end
  local tail = '\0\1' .. stamp .. struct.pack('>I4', ends)
  for i = 1, adds do
    local column, value = ARGV[2 + 2 * i], ARGV[3 + 2 * i]
    local old = find(column)
    local new = column .. tail .. value
    if not old then
      redis.call('ZADD', key, 0, new)
    elseif old ~= new then
      local was, ended, kept = parts(old, #column)
      if (ended > 0 and ended <= now()) or before(was, stamp) or (was == stamp and not before(value, kept)) then
        redis.call('ZADD', key, 0, new)
        redis.call('ZREM', key, old)
      end
    end
  end
  if ends == 0 then
    if left >= 0 then redis.call('PERSIST', key) end
  else
    local wanted = (ttl + 2) * 1000
    if left == -2 or (left >= 0 and left < wanted) then redis.call('PEXPIRE', key, wanted) end
    -- Columns mostly come in the order of time: those that have ended stand first.
    for _, member in ipairs(redis.call('ZRANGE', key, 0, 1)) do
      local column = string.find(member, '\0\1', 1, true) - 1
      local _, ended = parts(member, column)
      if ended > 0 and ended <= now() then redis.call('ZREM', key, member) end
    end
  end
end

for i = 4 + 2 * adds, #ARGV do
  local old = find(ARGV[i])
  if old and not before(stamp, (parts(old, #ARGV[i]))) then redis.call('ZREM', key, old) end
end
return 1
