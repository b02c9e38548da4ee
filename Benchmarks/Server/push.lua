-- This source file is part of the Optimist open source project, under the MIT licence.
-- Each request pushes a new row for one of the people listed in the file PEOPLE.

local people = {}
for line in io.lines(os.getenv("PEOPLE")) do
  local account, token = line:match("(%S+) (%S+)")
  people[#people + 1] = { account = account, token = token, push = 0 }
end

local run, count = os.time() % 1000000, 0

function request()
  count = count + 1
  local person = people[count % #people + 1]
  person.push = person.push + 1
  local id = string.format("%08x-0000-4000-8000-%012x", run, count)
  local body = string.format(
    '{"using":["urn:ietf:params:jmap:core","urn:x-optimist:rowsync"],"methodCalls":[["todo/set",' ..
    '{"accountId":"%s","create":{"%s":{"content":"A row of a usual length, such as a to-do has"}}},"0"]]}',
    person.account, id)
  return wrk.format("POST", nil, {
    ["Content-Type"] = "application/json", ["Authorization"] = "Bearer " .. person.token }, body)
end

failed = 0
function response(status, headers, body)
  if status ~= 200 or not body:find('"created":{"') then failed = failed + 1 end
end

local threads = {}
function setup(thread) threads[#threads + 1] = thread end
function done(summary)
  local all = summary.errors.connect + summary.errors.read + summary.errors.write + summary.errors.status
      + summary.errors.timeout
  for _, thread in ipairs(threads) do all = all + (thread:get("failed") or 0) end
  print("failed: " .. all)
end
