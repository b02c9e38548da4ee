#!/usr/bin/env python3
# This source file is part of the Optimist open source project, under the MIT licence.
"""Measures the time from the start of a write in a space until every member's device has heard of it.

    Benchmarks/Server/pokes.py [--members 100] [--writes 100] [--only embedded,postgres]

With PostgreSQL, the devices listen at another process than the one that takes the writes. OPTIMIST is the path of the
command. Needs PostgreSQL.
"""

import argparse
import asyncio
import hashlib
import json
import random
import statistics
import sys
import tempfile
import time
import uuid
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "Scripts"), str(Path(__file__).parent)]
from servers import Cluster, Server, people  # noqa: E402
from streams import Caller, call, stream  # noqa: E402
from strangers import SCHEMA, text  # noqa: E402

TARGET = 150


async def share(server, members):
    """Lets the first person found a space that the others join. Returns its account and its id."""
    space, secret, caller = str(uuid.uuid4()), random.randbytes(32), Caller(server)
    account = "s" + space.replace("-", "")

    async def create(person, table, row):
        answer = await caller.post(
            call(f"{table}/set", account, {"create": {str(uuid.uuid4()): {"space": space, **row}}}), person.token)
        assert not json.loads(answer)["methodResponses"][0][1].get("notCreated"), answer

    async def use(person):
        await caller.post(call("optimist_space/set", person.account, {"create": {space: {"name": "News"}}}), person.token)

    await create(members[0], "optimist_member", {"name": "Ann", "role": "owner"})
    await use(members[0])
    await create(members[0], "optimist_invitation", {
        "role": "reader", "label": "All", "uses": len(members), "hash": text(hashlib.sha256(secret).digest())})
    for number, person in enumerate(members[1:]):
        await create(person, "optimist_member", {"name": f"Reader {number}", "ticket": text(secret)})
        await use(person)
    return account, space


async def measure(writes_to, listens_to, members, writes):
    persons = people(writes_to, members)
    account, space = await share(writes_to, persons)
    heard = [asyncio.Queue() for _ in persons]

    async def listen(person, queue):
        reader, _ = await stream(listens_to, person.token)
        queue.put_nowait(None)
        while True:
            event = await reader.readuntil(b"\n\n")
            if account.encode() in event:
                queue.put_nowait(time.monotonic())

    listeners = [asyncio.create_task(listen(*pair)) for pair in zip(persons, heard)]
    for queue in heard:
        await queue.get()
    await asyncio.sleep(1)
    writer, each, last = Caller(writes_to), [], []
    for number in range(writes):
        for queue in heard:
            while not queue.empty():
                queue.get_nowait()
        begun = time.monotonic()
        row = {"title": f"Headline {number}", "space": space}
        answer = await writer.post(call("list/set", account, {"create": {str(uuid.uuid4()): row}}), persons[0].token)
        assert b'"notCreated":null' in answer, answer
        times = [1000 * (await asyncio.wait_for(queue.get(), 10) - begun) for queue in heard]
        each += times
        last.append(max(times))
        await asyncio.sleep(0.1)
    for task in listeners:
        task.cancel()
    return each, last


def show(store, each, last):
    p99 = statistics.quantiles(each, n=100)[98]
    verdict = "met" if p99 < TARGET else "missed"
    print(f"| {store} | {statistics.median(each):.1f} | {p99:.1f} | {statistics.median(last):.1f} | < {TARGET}: {verdict} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--members", type=int, default=100)
    parser.add_argument("--writes", type=int, default=100)
    parser.add_argument("--only", default="embedded,postgres")
    options = parser.parse_args()
    print("| store | median, ms | p99, ms | until the last member, median, ms | target for p99, ms |\n|---|---|---|---|---|")
    with tempfile.TemporaryDirectory(prefix="optimist-pokes-") as folder:
        schema = Path(folder, "schema.json")
        schema.write_text(json.dumps(SCHEMA))
        if "embedded" in options.only:
            with Server("--data", f"{folder}/data", "--schema", str(schema)) as server:
                show("embedded", *asyncio.run(measure(server, server, options.members, options.writes)))
        if "postgres" in options.only:
            with Cluster() as cluster:
                cluster_options = ["--database", cluster.url, "--secret", str(cluster.secret), "--schema", str(schema)]
                with Server(*cluster_options) as one, Server(*cluster_options) as two:
                    show("PostgreSQL, through another process",
                         *asyncio.run(measure(one, two, options.members, options.writes)))


if __name__ == "__main__":
    main()
