# This source file is part of the Optimist open source project, under the MIT licence.
"""Other clients read and write the same rows: jmapc, a JMAP library, and curl.

It starts a server with $OPTIMIST unless one is given: jmap.py --server http://127.0.0.1:8090
That server must have a type `todo` with the columns content and done. Each run creates a new account.
"""

import argparse
import functools
import json
import pathlib
import subprocess
import sys
import tempfile
import threading
import urllib.parse
import uuid
from dataclasses import dataclass, field

import jmapc
from dataclasses_json import config
from jmapc.methods import CoreEcho
from jmapc.methods.base import Changes, ChangesResponse, Get, GetResponse, Set, SetResponse
from jmapc.serializer import Model

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from claims import Claims  # noqa: E402
from program import PATIENCE, Program  # noqa: E402

CORE = "urn:ietf:params:jmap:core"
ROW_SYNC = "urn:x-optimist:rowsync"
claims = Claims()


# jmapc is made for mail. These are the methods of the todo type, declared in its style. They need no capability.


@dataclass
class Todo(Model):
    id: str | None = None
    content: str | None = None
    done: bool | None = None


class TodoBase:
    method_namespace = "todo"
    using = set()


@dataclass
class TodoGet(TodoBase, Get):
    pass


@dataclass
class TodoGetResponse(TodoBase, GetResponse):
    data: list[Todo] = field(metadata=config(field_name="list"))


@dataclass
class TodoSet(TodoBase, Set):
    pass


@dataclass
class TodoSetResponse(TodoBase, SetResponse):
    pass


@dataclass
class TodoChanges(TodoBase, Changes):
    pass


@dataclass
class TodoChangesResponse(TodoBase, ChangesResponse):
    pass


class Client(jmapc.Client):
    """jmapc's client, which supports only https and absolute addresses, on plain HTTP."""

    @functools.cached_property
    def jmap_session(self):
        response = self.requests_session.get(f"{self._host}/.well-known/jmap", timeout=PATIENCE)
        response.raise_for_status()
        session = jmapc.session.Session.from_dict(response.json())
        session.api_url = urllib.parse.urljoin(response.url, session.api_url)
        session.event_source_url = urllib.parse.urljoin(response.url, session.event_source_url)
        return session


class Site:
    """A new account on the server, with both clients signed in."""

    def __init__(self, server):
        self.server = server.rstrip("/")
        entry = {
            "email": f"{uuid.uuid4()}@example.org", "password": "correct horse battery",
            "device": {"id": str(uuid.uuid4()), "name": "jmap.py"},
        }
        grant = self.curl("/auth/sign-up", body=entry, token=None)
        self.token = grant["access_token"]
        self.account = grant["account_id"]
        self.client = Client.create_with_api_token(self.server, self.token)

    def curl(self, path, body=None, token=""):
        """Sends a request with curl, and returns the answer's JSON."""
        command = ["curl", "-sS", "--max-time", str(PATIENCE), self.server + path]
        token = self.token if token == "" else token
        if token:
            command += ["-H", f"Authorization: Bearer {token}"]
        if body is not None:
            command += ["-H", "Content-Type: application/json", "--data-binary", "@-"]
        done = subprocess.run(
            command, input=json.dumps(body) if body is not None else None, capture_output=True, text=True, check=True)
        return json.loads(done.stdout)

    def request(self, name, using=(CORE, ROW_SYNC), **arguments):
        return {"using": list(using), "methodCalls": [[name, {"accountId": self.account, **arguments}, "0"]]}

    def call(self, name, **arguments):
        """Calls one method with curl, and returns the arguments of its answer."""
        return self.curl("/jmap/", body=self.request(name, **arguments))["methodResponses"][0][1]

    def jmapc(self, method):
        return self.client.request(method, raise_errors=True, single_response=True)

    def state(self):
        return self.jmapc(TodoGet(ids=[])).state


@claims
def discovery(site):
    """jmapc discovers the server's addresses, limits and account."""
    session = site.client.jmap_session
    assert site.client.account_id == site.account
    assert ROW_SYNC in session.capabilities.urns
    assert session.capabilities.core.max_size_request == 10_000_000
    # Some clients use these as they are, and none is offered an upload that does not exist.
    assert session.api_url == f"{site.server}/jmap/"
    assert session.event_source_url.startswith(f"{site.server}/jmap/eventsource?"), session.event_source_url
    assert session.capabilities.core.max_size_upload == 0
    assert site.jmapc(CoreEcho(data={"hello": "world"})).data == {"hello": "world"}


@claims
def create_and_fetch(site):
    """curl fetches what jmapc creates, and the reverse."""
    created = site.jmapc(TodoSet(create={"k1": {"content": "Tickets"}})).created
    row = created["k1"]["id"]
    assert str(uuid.UUID(row)) == row
    fetched = site.call("todo/get", ids=[row])["list"][0]
    assert fetched["content"] == "Tickets" and fetched["done"] is None
    mine = str(uuid.uuid4())
    site.call("todo/set", create={mine: {"content": "Milk", "done": True}})
    assert site.jmapc(TodoGet(ids=[mine])).data == [Todo(id=mine, content="Milk", done=True)]


@claims
def change_and_destroy(site):
    """each client sees the other's changes and deletions."""
    row = str(uuid.uuid4())
    site.call("todo/set", create={row: {"content": "a"}})
    assert site.jmapc(TodoSet(update={row: {"done": True}})).updated == {row: None}
    fetched = site.call("todo/get", ids=[row], properties=["content", "done"])["list"]
    assert fetched == [{"id": row, "content": "a", "done": True}]
    site.call("todo/set", update={row: {"content": "b"}})
    assert site.jmapc(TodoGet(ids=[row])).data[0].content == "b"
    assert site.jmapc(TodoSet(destroy=[row])).destroyed == [row]
    assert site.call("todo/get", ids=[row])["notFound"] == [row]


@claims
def whole_rows(site):
    """curl changes one property of a fetched row and sends all of it back, with and without the capability."""
    row = str(uuid.uuid4())
    site.call("todo/set", create={row: {"content": "a", "@hlc": "019ab3c4d5e60000-device01"}})
    for text, using in ("b", [CORE]), ("c", [CORE, ROW_SYNC]), ("aa", [CORE, ROW_SYNC]):
        [whole] = site.call("todo/get", ids=[row], using=using)["list"]
        assert any(name.startswith("@") for name in whole) == (ROW_SYNC in using), whole
        answer = site.call("todo/set", update={row: whole | {"content": text}}, using=using)
        assert row in answer["updated"] and not answer["notUpdated"], answer
        assert site.jmapc(TodoGet(ids=[row])).data[0].content == text


@claims
def creation_ids(site):
    """creation ids of an earlier request name its rows, and a row named twice is answered once."""
    first = site.curl("/jmap/", body=site.request("todo/set", create={"k": {"content": "x"}}) | {"createdIds": {}})
    row = first["createdIds"]["k"]
    calls = site.request("todo/set", update={"#k": {"done": True}}) | {"createdIds": first["createdIds"]}
    second = site.curl("/jmap/", body=calls)
    assert second["methodResponses"][0][1]["updated"] == {row: None} and second["createdIds"] == {"k": row}, second
    answer = site.call("todo/set", update={row: {"done": False}}, destroy=[row, row], using=[CORE])
    assert answer["destroyed"] == [row] and answer["notUpdated"][row]["type"] == "willDestroy", answer
    answer = site.call("todo/set", create={"k": {"content": "x"}}, destroy=["#k"], using=[CORE])
    assert answer["destroyed"] == [answer["created"]["k"]["id"]] and not answer["notCreated"], answer


@claims
def follow_changes(site):
    """jmapc follows curl's changes with /changes, and fetches them by reference in the same request."""
    since = site.state()
    one, two = str(uuid.uuid4()), str(uuid.uuid4())
    site.call("todo/set", create={one: {"content": "one"}})
    site.call("todo/set", create={two: {"content": "two"}}, update={one: {"done": True}})
    results = site.client.request(
        [TodoChanges(since_state=since), TodoGet(ids=jmapc.Ref("/created"))], raise_errors=True)
    changes, rows = results[0].response, results[1].response
    assert sorted(changes.created) == sorted([one, two]) and not changes.updated and not changes.destroyed
    assert not changes.has_more_changes
    assert {row.id: row.content for row in rows.data} == {one: "one", two: "two"}
    site.call("todo/set", update={two: {"content": "three"}}, destroy=[one])
    later = site.jmapc(TodoChanges(since_state=changes.new_state))
    assert (later.created, later.updated, later.destroyed) == ([], [two], [one])


@claims
def follow_in_pages(site):
    """/changes in pages of any size returns everything once."""
    since = site.state()
    rows = {str(uuid.uuid4()): {"content": str(number)} for number in range(7)}
    site.jmapc(TodoSet(create=rows))
    seen, more = [], True
    while more:
        page = site.jmapc(TodoChanges(since_state=since, max_changes=3))
        assert len(page.created) <= 3
        seen += page.created
        since, more = page.new_state, page.has_more_changes
    assert sorted(seen) == sorted(rows)


@claims
def conflicts(site):
    """a stale ifInState is stateMismatch and changes nothing."""
    since = site.state()
    site.call("todo/set", create={"k": {"content": "x"}})
    refused = site.client.request(TodoSet(if_in_state=since, create={"k": {"content": "y"}}))
    assert isinstance(refused, jmapc.errors.Error) and refused.type == "stateMismatch"
    assert site.jmapc(TodoSet(if_in_state=site.state(), create={"k": {"content": "z"}})).created["k"]["id"]


@claims
def refusals(site):
    """refusals are per row, with the RFC's error types."""
    answer = site.jmapc(
        TodoSet(
            create={"good": {"content": "x"}, "bad": {"content": 5}, "odd": {"content": "x", "colour": "red"}},
            update={str(uuid.uuid4()): {"done": True}}, destroy=[str(uuid.uuid4())]))
    assert list(answer.created) == ["good"]
    assert {key: error.type for key, error in answer.not_created.items()} == {
        "bad": "invalidProperties", "odd": "invalidProperties"}
    assert answer.not_created["odd"].properties == ["colour"]
    assert [error.type for error in answer.not_updated.values()] == ["notFound"]
    assert [error.type for error in answer.not_destroyed.values()] == ["notFound"]
    assert site.client.request(TodoChanges(since_state="nonsense")).type == "cannotCalculateChanges"
    assert site.call("todo/query")["type"] == "unknownMethod"


@claims
def events_to_jmapc(site):
    """jmapc's event stream reports curl's changes."""
    events = Client.create_with_api_token(site.server, site.token).events
    assert next(events).id == site.state()
    site.call("todo/set", create={"k": {"content": "poke"}})
    assert next(events).id == site.state()


@claims
def events_to_curl(site):
    """curl's event stream reports jmapc's changes."""
    command = [
        "curl", "-sSN", "--max-time", str(PATIENCE), "-H", f"Authorization: Bearer {site.token}",
        f"{site.server}/jmap/eventsource?types=todo&closeafter=no&ping=30",
    ]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as stream:
        stop = threading.Timer(PATIENCE, stream.kill)
        stop.start()
        data = (line for line in stream.stdout if line.startswith("data: "))
        next(data)
        site.jmapc(TodoSet(create={"k": {"content": "poke"}}))
        event = json.loads(next(data)[6:])
        stop.cancel()
        stream.kill()
    assert event == {"@type": "StateChange", "changed": {site.account: {"todo": site.state()}}}


@claims
def devices_and_strangers(site):
    """jmapc can read and change rows that a device wrote with its own clocks, and its change wins."""
    row = str(uuid.uuid4())
    clock = "019ab3c4d5e60000-device01"
    site.call("todo/set", create={row: {"content": "device", "@hlc": clock}})
    site.jmapc(TodoSet(update={row: {"content": "jmapc"}}))
    page = site.call("todo/changes", sinceState=site.client.jmap_session.state.split("-")[0] + ".0", inline=True)
    [found] = [found for found in page["list"] if found["id"] == row]
    assert found["content"] == "jmapc" and found["@gen"] == 1 and found["@hlc"] > clock


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--server", help="such as http://127.0.0.1:8090; without it, one is started")
    if server := parser.parse_args().server:
        claims.run(Site(server))
    else:
        with tempfile.TemporaryDirectory() as folder, Program("serve", "--port", "0", "--data", folder) as program:
            claims.run(Site(program.find(r"Optimist serves (http://127\.0\.0\.1:\d+)")))
