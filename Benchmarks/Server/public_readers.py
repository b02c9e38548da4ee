#!/usr/bin/env python3
# This source file is part of the Optimist open source project, under the MIT licence.
"""Measures how many readers of a public space one server serves.

    Benchmarks/Server/public_readers.py [--readers 1000,5000,10000] [--writes 3] [--only embedded,postgres]

Each reader is a device with an event stream, which fetches the new row when it hears of a change. Twenty devices belong
to one person. Another person, who does not use the space, writes a row every 100 ms: the last columns show whether the
readers delay others. OPTIMIST is the path of the command. PostgreSQL needs its programs.
"""

import argparse
import asyncio
import json
import resource
import statistics
import subprocess
import sys
import tempfile
import time
import uuid
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "Scripts"), str(Path(__file__).parent)]
from servers import OPTIMIST, Cluster, Server, people  # noqa: E402
from strangers import SCHEMA  # noqa: E402
from streams import Caller, call, stream  # noqa: E402

DEVICES_OF_A_PERSON = 20
FETCHERS = 32


class News:
    """A public space with its owner and its readers' devices."""

    def __init__(self, server, place, readers):
        self.server, self.readers = server, readers
        self.owner, self.other, *self.persons = people(server, 2 + max(1, readers // DEVICES_OF_A_PERSON))
        self.space = str(uuid.uuid4())
        self.account = "s" + self.space.replace("-", "")
        subprocess.run(
            [OPTIMIST, "space", "create", "--public", "--id", self.space, "--owner", self.owner.email, "--name", "News",
             *place], capture_output=True, check=True)
        self.fetchers = [Caller(server) for _ in range(FETCHERS)]
        self.arrivals = asyncio.Queue()

    async def post(self, person, name, account, arguments, caller):
        answer = json.loads(await caller.post(call(name, account, arguments), person.token))
        return answer["methodResponses"][0][1]

    async def join(self):
        own = Caller(self.server)
        for person in self.persons:
            await self.post(person, "optimist_space/set", person.account, {"create": {self.space: {"name": "News"}}}, own)

    async def listen(self, number, person):
        fetcher = self.fetchers[number % FETCHERS]
        source = f"127.0.0.{1 + number % 4}"
        reader, _ = await stream(self.server, person.token, source)
        state = (await self.post(person, "list/get", self.account, {"ids": []}, fetcher))["state"]
        self.arrivals.put_nowait(0)
        while True:
            event = await reader.readuntil(b"\n\n")
            if self.account.encode() not in event:
                continue
            changes = await self.post(person, "list/changes", self.account, {"sinceState": state, "inline": True}, fetcher)
            state = changes["newState"]
            self.arrivals.put_nowait(time.monotonic())

    async def arrive(self, devices):
        """Waits for one arrival of each device. Raises the error of a device that failed."""
        times = []
        while len(times) < len(devices):
            try:
                times.append(await asyncio.wait_for(self.arrivals.get(), 60))
            except TimeoutError:
                failed = [device for device in devices if device.done()]
                raise AssertionError(f"{len(times)} of {len(devices)} devices heard; {len(failed)} failed: {failed[:1]}")
        return times

    async def write(self, person, account, space, caller):
        row = {"title": "Headline", "space": space}
        answer = await self.post(person, "list/set", account, {"create": {str(uuid.uuid4()): row}}, caller)
        assert not answer.get("notCreated"), answer

    async def disturb(self, times):
        """Writes for a person without the space."""
        caller = Caller(self.server)
        while True:
            begun = time.monotonic()
            await self.write(self.other, self.other.account, None, caller)
            times.append(1000 * (time.monotonic() - begun))
            await asyncio.sleep(0.1)

    async def measure(self, writes):
        await self.join()
        devices = [asyncio.create_task(self.listen(number, self.persons[number % len(self.persons)]))
                   for number in range(self.readers)]
        await self.arrive(devices)
        await asyncio.sleep(2)
        memory, _ = self.server.usage()
        writer, spans, costs, alone, beside = Caller(self.server), [], [], [], []
        disturbance = asyncio.create_task(self.disturb(alone))
        await asyncio.sleep(5)
        disturbance.cancel()
        disturbance = asyncio.create_task(self.disturb(beside))
        for _ in range(writes):
            _, before = self.server.usage()
            begun = time.monotonic()
            await self.write(self.owner, self.account, self.space, writer)
            last = max(await self.arrive(devices))
            spans.append(last - begun)
            costs.append(self.server.usage()[1] - before)
        disturbance.cancel()
        for device in devices:
            device.cancel()
        return memory, statistics.median(spans), statistics.median(costs), alone, beside


def show(store, server, place, readers, writes):
    async def run():
        return await News(server, place, readers).measure(writes)

    memory, span, cost, alone, beside = asyncio.run(run())
    p99 = [statistics.quantiles(times, n=100)[98] if len(times) > 1 else float("nan") for times in (alone, beside)]
    print(f"| {store} | {readers:,} | {memory:.0f} | {span:.1f} | {cost:.2f} | {1e3 * cost / readers:.2f} "
          f"| {p99[0]:.1f} | {p99[1]:.1f} |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--readers", default="1000,5000,10000")
    parser.add_argument("--writes", type=int, default=3)
    parser.add_argument("--only", default="embedded,postgres")
    options = parser.parse_args()
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    print("| store | readers | memory, MB | until the last reader has the row, s | CPU for a row, s | CPU for a reader, ms "
          "| p99 of another person's write, ms | the same while readers fetch, ms |\n|---|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory(prefix="optimist-readers-") as folder:
        schema = Path(folder, "schema.json")
        schema.write_text(json.dumps(SCHEMA))
        for readers in map(int, options.readers.split(",")):
            if "embedded" in options.only:
                place = ["--data", f"{folder}/data{readers}"]
                with Server(*place, "--schema", str(schema)) as server:
                    show("embedded", server, place, readers, options.writes)
            if "postgres" in options.only:
                with Cluster() as cluster:
                    place = ["--database", cluster.url, "--secret", str(cluster.secret)]
                    with Server(*place, "--schema", str(schema)) as server:
                        show("PostgreSQL", server, place, readers, options.writes)


if __name__ == "__main__":
    main()
