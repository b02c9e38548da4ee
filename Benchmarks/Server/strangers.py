#!/usr/bin/env python3
# This source file is part of the Optimist open source project, under the MIT licence.
"""Measures whether the time of an answer shows a stranger that a space exists, or why a ticket is not valid.

    Benchmarks/Server/strangers.py [--requests 2000] [--only embedded,postgres]

The requests of all kinds alternate on one connection, so that a change in the machine's speed affects all of them.
OPTIMIST is the path of the command. Needs PostgreSQL.
"""

import argparse
import base64
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
from servers import USING, Cluster, Server, people  # noqa: E402

SCHEMA = {"id": "lists", "version": 1, "types": {"list": {
    "@space": {"column": "space"}, "title": {"type": "string", "required": True}, "space": {"type": "ref"}}}}
TICKETS = ["wrong", "used", "ended", "revoked"]


def text(data):
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


class Site:
    """A server with a space of one person, another member, a stranger, and tickets that are not valid."""

    def __init__(self, server):
        self.server, self.connection, self.address = server, server.connect(), 0
        self.owner, self.member, self.stranger = people(server, 3)
        self.spaces = {"unknown": str(uuid.uuid4()), "foreign": str(uuid.uuid4())}
        self.secrets = {name: random.randbytes(32) for name in TICKETS}
        space = self.spaces["foreign"]
        self.call(self.owner, "optimist_member/set", {"create": {str(uuid.uuid4()): {
            "space": space, "name": "Ann", "role": "owner"}}})
        self.call(self.owner, "list/set", {"create": {
            str(uuid.uuid4()): {"title": f"List {number}", "space": space} for number in range(1000)}})
        invitations = {name: str(uuid.uuid4()) for name in TICKETS[1:]}
        self.call(self.owner, "optimist_invitation/set", {"create": {row: {
            "space": space, "role": "writer", "label": "Home", "hash": text(hashlib.sha256(self.secrets[name]).digest()),
            **({"endsAt": "2020-01-01T00:00:00Z"} if name == "ended" else {})} for name, row in invitations.items()}})
        self.call(self.member, "optimist_member/set", {"create": {str(uuid.uuid4()): self.row("foreign", "used")}})
        self.call(self.owner, "optimist_invitation/set", {"destroy": [invitations["revoked"]]})

    def row(self, space, ticket):
        return {"space": self.spaces[space], "name": "Bob", "ticket": text(self.secrets[ticket])}

    def body(self, method, arguments, space):
        account = "s" + self.spaces[space].replace("-", "")
        return json.dumps({"using": USING, "methodCalls": [[method, {"accountId": account, **arguments}, "0"]]})

    def call(self, person, method, arguments):
        status, answer = self.server.post(
            self.connection, "/jmap", self.body(method, arguments, "foreign"), person.token)
        made = json.loads(answer)["methodResponses"][0][1]
        refused = [made.get(name) for name in ("type", "notCreated", "notDestroyed")]
        assert status == 200 and not any(refused), answer

    def jmap(self, method, arguments, space, error):
        body = self.body(method, arguments, space)

        def send():
            status, answer = self.server.post(self.connection, "/jmap", body, self.stranger.token)
            assert status == 200 and error in answer, answer
        return send

    def preview(self, space, ticket):
        body = json.dumps({"space": self.spaces[space], "secret": text(self.secrets[ticket])})

        def send():
            self.address += 1
            address = f"10.{self.address >> 16 & 255}.{self.address >> 8 & 255}.{self.address & 255}"
            status, answer = self.server.post(self.connection, "/spaces/invitation", body, address=address)
            assert status == 404, answer
        return send

    def kinds(self):
        """The requests by group and kind. The kinds of a group should take the same time."""
        row, closed = str(uuid.uuid4()), b"accountNotFound"
        new = {"create": {row: {"title": "x"}}}
        for space in self.spaces:
            yield "read", space, self.jmap("list/get", {"ids": None}, space, closed)
        for space in self.spaces:
            yield "write", space, self.jmap("list/set", new, space, closed)
        for space, ticket in [("unknown", "wrong"), *(("foreign", ticket) for ticket in TICKETS)]:
            join = {"create": {row: self.row(space, ticket)}}
            yield "join", f"{space}, {ticket}", self.jmap("optimist_member/set", join, space, b"invitationInvalid")
            yield "preview", f"{space}, {ticket}", self.preview(space, ticket)


def measure(store, server, requests):
    kinds = sorted(Site(server).kinds(), key=lambda kind: kind[0])
    times = {kind[:2]: [] for kind in kinds}
    for number in range(requests + 50):
        for group, name, send in random.sample(kinds, len(kinds)):
            begun = time.perf_counter()
            send()
            if number >= 50:
                times[group, name].append((time.perf_counter() - begun) * 1e6)
    for (group, name), found in times.items():
        p90 = statistics.quantiles(found, n=10)[8]
        print(f"| {store} | {group} | {name} | {statistics.median(found):.0f} | {p90:.0f} |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--requests", type=int, default=2000)
    parser.add_argument("--only", default="embedded,postgres")
    options = parser.parse_args()
    print("| store | request | space, ticket | median, µs | p90, µs |\n|---|---|---|---|---|")
    with tempfile.TemporaryDirectory(prefix="optimist-strangers-") as folder:
        schema = Path(folder, "schema.json")
        schema.write_text(json.dumps(SCHEMA))
        if "embedded" in options.only:
            with Server("--data", f"{folder}/data", "--schema", str(schema)) as server:
                measure("embedded", server, options.requests)
        if "postgres" in options.only:
            with Cluster() as cluster, Server(
                    "--database", cluster.url, "--secret", str(cluster.secret), "--schema", str(schema)) as server:
                measure("PostgreSQL", server, options.requests)


if __name__ == "__main__":
    main()
