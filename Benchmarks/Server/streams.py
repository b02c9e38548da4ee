# This source file is part of the Optimist open source project, under the MIT licence.
"""Load tests of event streams."""

import asyncio
import json
import resource
import statistics
import time

from servers import USING, people

DEVICES, WRITES = 1_000, 200
IDLE = 10_000


async def stream(server, token, source="127.0.0.1"):
    """Opens an event stream, and reads its first event."""
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port, local_addr=(source, 0))
    writer.write(
        f"GET /jmap/eventsource?types=*&closeafter=no&ping=300 HTTP/1.1\r\nHost: localhost\r\n"
        f"Authorization: Bearer {token}\r\n\r\n".encode())
    await reader.readuntil(b"data: ")
    await reader.readuntil(b"\n\n")
    return reader, writer


class Caller:
    """A connection that sends one request at a time."""

    def __init__(self, server):
        self.server, self.lock, self.pair = server, asyncio.Lock(), None

    async def post(self, body, token):
        async with self.lock:
            if not self.pair:
                self.pair = await asyncio.open_connection("127.0.0.1", self.server.port)
            reader, writer = self.pair
            writer.write(
                f"POST /jmap HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nAuthorization: Bearer {token}\r\n"
                f"Content-Length: {len(body)}\r\n\r\n".encode() + body)
            head = await reader.readuntil(b"\r\n\r\n")
            length = next(int(line.split(b":")[1]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-length"))
            answer = await reader.readexactly(length)
            assert b" 200 " in head.split(b"\r\n")[0], answer
            return answer


def call(name, account, arguments):
    return json.dumps({"using": USING, "methodCalls": [[name, {"accountId": account, **arguments}, "0"]]}).encode()


def delivery(writes_to, listens_to, seconds):
    """Measures the time from the start of a write at one server until another device has the row from the other server.

    Each account has two devices. Returns p50 and p99 in ms."""
    return asyncio.run(deliver(people(writes_to, DEVICES // 2), writes_to, listens_to, seconds))


async def deliver(persons, writes_to, listens_to, seconds):
    begun, times = {}, []
    states = {}
    writers = [Caller(writes_to) for _ in range(16)]
    pullers = [Caller(listens_to) for _ in range(16)]

    async def listen(number, person):
        reader, _ = await stream(listens_to, person.token)
        answer = json.loads(await pullers[number % 16].post(
            call("todo/changes", person.account, {"sinceState": initial, "inline": True}), person.token))
        states[number] = answer["methodResponses"][0][1]["newState"]
        ready.release()
        while True:
            event = await reader.readuntil(b"\n\n")
            if b"event: state" not in event or number not in begun:
                continue
            answer = json.loads(await pullers[number % 16].post(
                call("todo/changes", person.account, {"sinceState": states[number], "inline": True}), person.token))
            changes = answer["methodResponses"][0][1]
            states[number] = changes["newState"]
            if changes.get("list") or changes.get("created"):
                times.append(1000 * (time.monotonic() - begun.pop(number)))

    session = json.loads(await get(writes_to, "/jmap/session", persons[0].token))
    initial = next(iter(session["capabilities"].values()))
    initial = session["capabilities"]["urn:x-optimist:rowsync"]["initialState"]
    ready = asyncio.Semaphore(0)
    listeners = [asyncio.create_task(listen(*pair)) for pair in enumerate(persons)]
    for _ in listeners:
        await ready.acquire()
    # The second device of each account listens at the server that receives the writes.
    others = [await stream(writes_to, person.token) for person in persons]
    await asyncio.sleep(1)
    start, count, tasks = time.monotonic(), 0, []
    while time.monotonic() - start < seconds:
        await asyncio.sleep(max(0, start + count / WRITES - time.monotonic()))
        number = count % len(persons)
        count += 1
        if number in begun:
            continue
        begun[number] = time.monotonic()
        row = f"{count:08x}-0000-4000-8000-{number:012x}"
        body = call("todo/set", persons[number].account, {"create": {row: {"content": "A row"}}})
        tasks.append(asyncio.create_task(writers[count % 16].post(body, persons[number].token)))
    await asyncio.gather(*tasks)
    await asyncio.sleep(2)
    for task in listeners:
        task.cancel()
    for _, writer in others:
        writer.close()
    assert len(times) > 0.9 * len(tasks), f"{len(times)} of {len(tasks)} arrived"
    return statistics.quantiles(times, n=100)[49], statistics.quantiles(times, n=100)[98]


async def get(server, path, token):
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
    writer.write(f"GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nAuthorization: Bearer {token}\r\n\r\n".encode())
    answer = await reader.read()
    writer.close()
    return answer.split(b"\r\n\r\n", 1)[1]


def idle(servers):
    """Opens idle streams at some servers. Returns the servers' memory in MB, and their share of a core, as text."""
    limit = min(resource.getrlimit(resource.RLIMIT_NOFILE)[1], IDLE + 1_000)
    resource.setrlimit(resource.RLIMIT_NOFILE, (limit, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
    return asyncio.run(rest(servers, people(servers[0], 100)))


async def rest(servers, persons):
    opened = []
    for number in range(IDLE):
        server, person = servers[number % len(servers)], persons[number % len(persons)]
        opened.append(await stream(server, person.token, f"127.0.0.{1 + number % 4}"))
    await asyncio.sleep(2)
    before = [server.usage() for server in servers]
    await asyncio.sleep(10)
    after = [server.usage() for server in servers]
    for _, writer in opened:
        writer.close()
    memory = sum(usage[0] for usage in after)
    return f"{memory:.0f} · {sum(b[1] - a[1] for a, b in zip(before, after)) / 10:.3f}"
