-- What wrk sends, and what it tells in the end: see load.py.
--
-- Arguments: a file with a body on each line, and a rate in requests a second
-- for all connections together, 0 for as many as are answered.

local ffi = require("ffi")
ffi.cdef[[
typedef struct { long seconds; long microseconds; } serving_time;
int gettimeofday(serving_time *time, void *zone);
]]

local time = ffi.new("serving_time")

-- Lua itself has whole seconds only.
local function milliseconds()
  ffi.C.gettimeofday(time, nil)
  return tonumber(time.seconds) * 1000 + tonumber(time.microseconds) / 1000
end

local threads = {}

function setup(thread)
  table.insert(threads, thread)
end

function init(arguments)
  requests, place, counts = {}, 0, {}
  local headers = { ["Content-Type"] = "application/json" }
  for body in io.lines(arguments[1]) do
    table.insert(requests, wrk.format("POST", nil, headers, body))
  end
  local rate = tonumber(arguments[2] or "0")
  if rate > 0 then
    interval, turn = 1000 / rate, milliseconds()
    -- All connections share one timetable: a slow answer doesn't make the
    -- next request later.
    delay = function()
      local now = milliseconds()
      turn = math.max(turn + interval, now)
      return math.floor(turn - now)
    end
  end
end

function request()
  place = place % #requests + 1
  return requests[place]
end

function response(status)
  local key = tostring(status)
  counts[key] = (counts[key] or 0) + 1
end

function done(summary, latency)
  local statuses = {}
  for _, thread in ipairs(threads) do
    for status, count in pairs(thread:get("counts")) do
      table.insert(statuses, string.format('"%s": %d', status, count))
    end
  end
  local errors = summary.errors
  io.write(string.format(
    '\n{"seconds": %.6f, "statuses": {%s}, "connection_errors": %d, ' ..
      '"timeouts": %d, "p50_ms": %.3f, "p95_ms": %.3f, "p99_ms": %.3f, ' ..
      '"max_ms": %.3f}\n',
    summary.duration / 1e6, table.concat(statuses, ", "),
    errors.connect + errors.read + errors.write, errors.timeout,
    latency:percentile(50) / 1e3, latency:percentile(95) / 1e3,
    latency:percentile(99) / 1e3, latency.max / 1e3))
end
