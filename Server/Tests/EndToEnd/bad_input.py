# This source file is part of the Optimist open source project, under the MIT licence.
"""Input that a server must refuse: each gets the protocol's error, nothing is stored, and the server stays up."""

import http.client
import json
import select
import socket
import sqlite3
import sys
import tempfile
import uuid
from contextlib import ExitStack
from pathlib import Path
from urllib.parse import urlsplit

sys.path.insert(0, str(Path(__file__).parents[1]))
from claims import Claims  # noqa: E402
from program import PATIENCE, Program, eventually  # noqa: E402

CORE, ROWS = "urn:ietf:params:jmap:core", "urn:x-optimist:rowsync"
ERROR = "urn:ietf:params:jmap:error:"
# The number of concurrent requests that a session may have.
PLACES = 8
claims = Claims()


class Server:
    def __init__(self, address, database):
        self.host, self.database = urlsplit(address).netloc, database

    def request(self, method, path, body=None, headers=()):
        """Returns the status, the headers and the body as JSON."""
        connection = http.client.HTTPConnection(self.host, timeout=PATIENCE)
        try:
            try:
                connection.request(method, path, body, dict(headers))
            except (BrokenPipeError, ConnectionResetError):
                pass  # Refused before the complete body was sent; the answer has arrived.
            answer = connection.getresponse()
            text = answer.read()
        finally:
            connection.close()
        return answer.status, answer.headers, json.loads(text) if text else None

    def sign_up(self):
        entry = {"email": f"{uuid.uuid4().hex}@example.org", "password": uuid.uuid4().hex, "device": {"id": "e2e"}}
        status, _, grant = self.request("POST", "/auth/sign-up", json.dumps(entry))
        assert status == 201, grant
        return Account(self, grant["access_token"])


class Account:
    """A signed-in user with a to-do."""

    def __init__(self, server, token):
        self.server, self.token = server, token
        status, _, session = self.get("/.well-known/jmap")
        assert status == 200, session
        self.id, self.initial_state = session["primaryAccounts"][ROWS], session["capabilities"][ROWS]["initialState"]
        self.row = str(uuid.uuid4())
        self.answer("todo/set", {"create": {self.row: {"content": "Was there before"}}})
        self.before = self.changes()
        assert self.before["created"] == [self.row], self.before

    def get(self, path):
        return self.server.request("GET", path, headers={"Authorization": f"Bearer {self.token}"})

    def post(self, body, token=None):
        body = body if isinstance(body, bytes) else json.dumps(body).encode()
        headers = {"Authorization": f"Bearer {token or self.token}", "Content-Type": "application/json"}
        return self.server.request("POST", "/jmap/", body, headers)

    def answer(self, method, arguments):
        """Makes one call. Returns the name and the arguments of its answer."""
        status, _, body = self.post(self.calling(method, arguments))
        assert status == 200, body
        return body["methodResponses"][0][:2]

    def calling(self, method, arguments, **members):
        return {"using": [CORE, ROWS], "methodCalls": [[method, {"accountId": self.id} | arguments, "0"]], **members}

    def writing(self, content="Never to be stored", **members):
        """A request that would store a row if any part of it were carried out."""
        return self.calling("todo/set", {"create": {str(uuid.uuid4()): {"content": content}}}, **members)

    def changes(self):
        """All changes since the beginning."""
        return self.answer("todo/changes", {"sinceState": self.initial_state})[1]

    def refused(self, body, status, type, **members):
        """Posts, and asserts that the complete request is refused with this problem and changes nothing."""
        got, headers, problem = self.post(body)
        wanted = {"type": type, "status": status, **members}
        assert got == status and problem, (got, problem)
        assert {name: problem.get(name) for name in wanted} == wanted, problem
        assert headers["Content-Type"] == "application/problem+json" and problem["detail"], problem
        assert len(json.dumps(problem)) < 500 and "Never to be" not in json.dumps(problem), "it repeats what was sent"
        assert self.changes() == self.before, "something was stored"

    def call_refused(self, type, method, arguments):
        name, error = self.answer(method, arguments)
        assert (name, error["type"]) == ("error", type) and error["description"], (name, error)
        assert self.changes() == self.before, "something was stored"


@claims
def no_json(account, _):
    """A body that is not JSON, names a member twice or is nested too deeply is refused as a whole."""
    whole = json.dumps(account.writing()).encode()
    for body in (b"", b"{", whole[:-1], whole + b"}", b"\xff" + whole, whole.replace(b"Never", b"\xc3\x28"), b"nul"):
        account.refused(body, 400, ERROR + "notJSON")
    account.refused(whole.replace(b'{"using"', b'{"using": [], "using"'), 400, ERROR + "notJSON")
    account.refused(whole.replace(b'"content"', b'"content": "a", "content"'), 400, ERROR + "notJSON")
    # The same name with an escape.
    account.refused(whole.replace(b'"content"', b'"cont\\u0065nt": "a", "content"'), 400, ERROR + "notJSON")
    deep = whole.replace(b'"Never to be stored"', b"[" * 40 + b"]" * 40)
    account.refused(deep, 413, ERROR + "limit", limit="maxDepth")
    account.refused(b"[" * 1_000_000, 413, ERROR + "limit", limit="maxDepth")


@claims
def no_request(account, _):
    """JSON that is not a request of the protocol is refused as a whole."""
    for body in ([], 7, None, {}, {"using": [CORE]}, account.writing() | {"using": "all"},
                 account.writing() | {"methodCalls": [["todo/set"]]}, account.writing(device="7Kp3aaaa", push=0),
                 account.writing(device=7), account.writing(groups="todo")):
        account.refused(body, 400, ERROR + "notRequest")
    account.refused(account.writing() | {"using": [CORE, ROWS, "urn:x-none"]}, 400, ERROR + "unknownCapability")
    account.refused(account.writing(device="7Kp3aaaa", push=1) | {"using": [CORE]}, 400, ERROR + "notRequest")


@claims
def too_large(account, _):
    """11 MB are refused with or without a length, and so are too many calls and too many rows."""
    account.refused(account.writing("x" * 11_000_000), 413, ERROR + "limit", limit="maxSizeRequest")
    chunks = (b"x" * 100_000 for _ in range(110))
    headers = {"Authorization": f"Bearer {account.token}"}  # A body of unknown length is sent in chunks.
    status, _, problem = account.server.request("POST", "/jmap/", chunks, headers)
    assert (status, problem["type"], problem["limit"]) == (413, ERROR + "limit", "maxSizeRequest"), problem
    many_calls = account.writing() | {"methodCalls": account.writing()["methodCalls"] * 65}
    account.refused(many_calls, 413, ERROR + "limit", limit="maxCallsInRequest")
    rows = {str(uuid.uuid4()): {"content": "Never"} for _ in range(5001)}
    account.call_refused("requestTooLarge", "todo/set", {"create": rows})
    account.refused(account.calling("todo/set", {"create": rows}, device="7Kp3aaaa", push=1),
                    413, ERROR + "limit", limit="maxObjectsInSet")


@claims
def broken_body(account, _):
    """A body that breaks HTTP's framing is answered with 400."""
    lines = ["POST /jmap/ HTTP/1.1", "Host: x", f"Authorization: Bearer {account.token}", "Transfer-Encoding: chunked"]
    chunked = "\r\n".join([*lines, "", ""])
    for body in ("no chunk", "ffffffffffffffffffff\r\n", "5\r\n12345 and more"):
        with sent(account.server, chunked + body) as connection:
            answer = connection.recv(4096)
        assert answer.startswith(b"HTTP/1.1 400 "), answer[:200]
    assert account.changes() == account.before, "something was stored"


def sent(server, text):
    """A connection on which a text was sent verbatim."""
    host, port = server.host.split(":")
    connection = socket.create_connection((host, int(port)), timeout=PATIENCE)
    connection.sendall(text.encode())
    return connection


def raw(server, text):
    """Sends a text verbatim, and returns everything received until the server closes."""
    with sent(server, text) as connection:
        return connection.makefile("rb").read().decode()


def head(token, length, *more):
    """The head of a request whose body has this length."""
    lines = ["POST /jmap/ HTTP/1.1", "Host: x", f"Authorization: Bearer {token}", f"Content-Length: {length}", *more]
    return "\r\n".join([*lines, "", ""])


def waiting_head(token, length):
    """The head of a request that waits for 100 Continue, which the server sends when the request has a place."""
    return head(token, length, "Expect: 100-continue")


@claims
def bad_hosts(account, _):
    """HTTP/1.1 without a Host, with two or with an invalid one is 400; HTTP/1.0 needs none."""
    for lines in ("", "Host: a\r\nHost: a\r\n", "Host: a\r\nhost: b\r\n", "Host: a b\r\n", "Host: a/b\r\n"):
        answer = raw(account.server, f"GET /healthz HTTP/1.1\r\nConnection: close\r\n{lines}\r\n")
        assert answer.startswith("HTTP/1.1 400 ") and "problem+json" in answer, (lines, answer)
    answer = raw(account.server, "GET /healthz HTTP/1.0\r\n\r\n")
    assert answer.startswith("HTTP/1.1 200 ") and "connection: close" in answer.lower(), answer


@claims
def other_protocols(account, _):
    """A request for a protocol upgrade is answered, and its connection closes so that no proxy keeps it."""
    fields = "Connection: Upgrade\r\nUpgrade: websocket\r\n"
    body = "Content-Length: 2\r\n"
    for line, more, end, status in (
            ("GET /healthz", fields, "", 200), ("GET /nowhere", fields, "", 404), ("GET /jmap/session", fields, "", 401),
            ("POST /auth/sign-in", fields + body, "{}", 400), ("CONNECT x:80", "", "", 404),
            ("GET /healthz", "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMA\r\n", "", 200)):
        next = "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"
        answer = raw(account.server, f"{line} HTTP/1.1\r\nHost: x\r\n{more}\r\n{end}{next}")
        assert answer.startswith(f"HTTP/1.1 {status} ") and answer.count("HTTP/1.1 ") == 1, (line, answer)
        assert "connection: close" in answer.lower(), (line, answer)


@claims
def heads_without_bodies(account, _):
    """The answer to HEAD is followed directly by the next answer, whatever its status."""
    for path, status in (("/healthz", 200), ("/nowhere", 404), ("/.well-known/jmap", 401), ("/jmap/", 405)):
        text = f"HEAD {path} HTTP/1.1\r\nHost: x\r\n\r\nGET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
        first, second = raw(account.server, text).split("\r\n\r\n", 1)
        assert first.startswith(f"HTTP/1.1 {status} "), first
        assert second.startswith("HTTP/1.1 200 ") and second.endswith('{"status":"ok"}'), second


@claims
def asks_for_bodies(account, other):
    """A client that waits for 100 Continue gets it, or is refused immediately without sending its body."""
    body = json.dumps(account.calling("Core/echo", {}))
    with sent(account.server, waiting_head(account.token, len(body))) as connection:
        assert connection.recv(100) == b"HTTP/1.1 100 Continue\r\n\r\n"
        connection.sendall(body.encode())
        assert connection.recv(4096).startswith(b"HTTP/1.1 200 ")
    for token, length, status in ((account.token, 11_000_000, 413), ("none", len(body), 401)):
        answer = raw(account.server, waiting_head(token, length))
        assert answer.startswith(f"HTTP/1.1 {status} ") and "connection: close" in answer.lower(), answer


@claims
def leaves_early(account, _):
    """A waiting write whose client leaves is not stored and frees its place; a client that stays is answered."""

    def asking(one, text):
        body = json.dumps(one.writing(text))
        return sent(one.server, head(one.token, len(body)) + body)

    def status():
        return account.post(account.calling("todo/get", {"ids": []}))[0]

    def all_are_free():
        """Makes as many concurrent requests as the account has places. Returns whether each gets a place."""
        with ExitStack() as asked:
            connections = [asked.enter_context(sent(account.server, waiting_head(account.token, 2)))
                           for _ in range(PLACES)]
            return all(connection.recv(100).startswith(b"HTTP/1.1 100 ") for connection in connections)

    friend = account.server.sign_up()
    lock = sqlite3.connect(account.server.database, isolation_level=None)
    lock.execute("BEGIN IMMEDIATE")

    def left():
        """Fills the account's places and leaves them. Returns the friend's writes, or None if one stopped waiting."""
        staying, half = asking(friend, "Stays"), asking(friend, "Never")
        half.shutdown(socket.SHUT_WR)
        leaving = []

        def are_taken():
            # A query may take a write's place, and the write is then refused, so another write precedes each query.
            leaving.append(asking(account, "Never"))
            return status() == 429

        eventually("all places are taken", are_taken)
        for connection in leaving:
            connection.close()
        eventually("all places are free", all_are_free)
        eventually("a place is free again", lambda: status() == 200)
        # A write waits for a few seconds, which may pass on a stalled machine.
        return None if select.select([staying], [], [], 0)[0] else (staying, half)

    staying, half = eventually("the friend's writes wait", left)
    lock.execute("ROLLBACK")
    lock.close()
    with staying, half:
        assert staying.recv(4096).startswith(b"HTTP/1.1 200 ") and half.recv(4096).startswith(b"HTTP/1.1 503 ")
    rows = friend.answer("todo/get", {"ids": None})[1]["list"]
    assert sorted(row["content"] for row in rows) == ["Stays", "Was there before"], rows
    assert account.changes() == account.before, "something was stored"


@claims
def unknown_methods(account, _):
    """An unknown method or table, or arguments that are not an object, fail only their own call."""
    for method in ("todo/query", "todo/", "/set", "todo/set/set", "x" * 10_000, "sqlite_master/get", "note/set",
                   'todo"; DROP TABLE row; --/set', "Todo/set"):
        account.call_refused("unknownMethod", method, {"create": {str(uuid.uuid4()): {"content": "Never"}}})
    for arguments in ({"create": 7}, {"create": {"a": 7}}, {"update": []}, {"destroy": "all"}):
        account.call_refused("invalidArguments", "todo/set", arguments)
    account.call_refused("invalidArguments", "todo/changes", {"sinceState": account.initial_state, "maxChanges": 0})
    for arguments in ({"maxChanges": "5"}, {"maxChanges": 1.5}, {"inline": 1}):
        account.call_refused("invalidArguments", "todo/changes", {"sinceState": account.initial_state} | arguments)
    account.call_refused("invalidArguments", "todo/set", {"ifInState": 7, "create": {str(uuid.uuid4()): {}}})
    account.call_refused("cannotCalculateChanges", "todo/changes", {"sinceState": "no state"})
    account.call_refused("invalidArguments", "todo/get", {"ids": 7})


@claims
def bad_rows(account, _):
    """A row with an unknown column, a wrong type or a long text is refused with its reason."""
    columns = {
        "unknown": ({"content": "Never", "color": "red"}, "invalidProperties"),
        "type": ({"content": "Never", "priority": "high"}, "invalidProperties"),
        "fraction": ({"content": "Never", "priority": 1.5}, "invalidProperties"),
        "huge": ({"content": "Never", "priority": 1 << 60}, "invalidProperties"),
        "null": ({"content": None}, "invalidProperties"),
        "missing": ({"done": True}, "invalidProperties"),
        "date": ({"content": "Never", "alarm": "tomorrow"}, "invalidProperties"),
        "long": ({"content": "x" * 65_537}, "tooLarge"),
        "id": ({"content": "Never", "id": str(uuid.uuid4())}, "invalidProperties"),
    }
    name, answer = account.answer("todo/set", {"create": {key: row for key, (row, _) in columns.items()}})
    got = {key: error["type"] for key, error in answer["notCreated"].items()}
    assert (name, got) == ("todo/set", {key: type for key, (_, type) in columns.items()}), answer
    assert all(error["description"] and error.get("properties") for error in answer["notCreated"].values()), answer
    assert account.changes() == account.before and answer["newState"] == answer["oldState"], "something was stored"


@claims
def wrong_tokens(account, other):
    """A missing or invalid token gets 401 with a challenge, and nothing is done."""
    head, payload, signature = account.token.split(".")
    forged = signature[:-8] + ("A" * 8 if signature[-8:] != "A" * 8 else "B" * 8)
    theirs = other.token.split(".")[1]
    for token in ("nonsense", f"{head}.{payload}.{forged}", f"{head}.{theirs}.{signature}", f"{head}.{payload}.",
                  "eyJhbGciOiJub25lIn0." + payload + ".", "x" * 5000):
        status, headers, problem = account.post(account.writing(), token)
        assert status == 401 and problem["error"] == "invalid_token", (token[:40], status, problem)
        assert headers["WWW-Authenticate"].startswith("Bearer") and "invalid_token" in headers["WWW-Authenticate"]
    status, headers, _ = account.server.request("POST", "/jmap/", json.dumps(account.writing()))
    challenge = headers["WWW-Authenticate"]
    assert status == 401 and challenge.startswith("Bearer") and "error" not in challenge
    for path in ("/.well-known/jmap", "/jmap/eventsource?types=*&closeafter=no&ping=30"):
        assert account.server.request("GET", path)[0] == 401, path
    assert account.changes() == account.before, "something was stored"


@claims
def other_accounts(account, other):
    """Another account's id gives no access, and its rows cannot be reached."""
    row = {"create": {str(uuid.uuid4()): {"content": "Never"}}}
    for id in (other.id, "a0", ""):
        account.call_refused("accountNotFound", "todo/set", row | {"accountId": id})
        account.call_refused("accountNotFound", "todo/get", {"ids": None, "accountId": id})
    account.call_refused("invalidArguments", "todo/set", row | {"accountId": 7})
    assert account.answer("todo/get", {"ids": [other.row]})[1]["notFound"] == [other.row]
    _, answer = account.answer("todo/set", {"update": {other.row: {"content": "Mine now"}}})
    assert answer["notUpdated"][other.row]["type"] == "notFound", answer
    _, answer = account.answer("todo/set", {"destroy": [other.row]})
    assert answer["notDestroyed"][other.row]["type"] == "notFound" and not answer.get("destroyed"), answer
    assert account.changes() == account.before and other.changes() == other.before, "something was stored"


@claims
def bad_entries(account, _):
    """Sign-up, sign-in and refresh refuse invalid input with OAuth's errors."""
    for path in ("/auth/sign-up", "/auth/sign-in"):
        for body in ("", "[]", "{}", '{"email": "a@b.c", "password": "long enough"}', "x" * 20_000):
            status, _, error = account.server.request("POST", path, body)
            assert status == 413 or (status, error["error"]) == (400, "invalid_request"), (path, status, error)
    for body, error in (("", "unsupported_grant_type"), ("grant_type=refresh_token", "invalid_request"),
                        ("grant_type=refresh_token&refresh_token=none", "invalid_grant")):
        form = {"Content-Type": "application/x-www-form-urlencoded"}
        status, _, answer = account.server.request("POST", "/auth/token", body, form)
        assert (status, answer["error"]) == (400, error) and answer["error_description"], answer


@claims
def stays_up(account, other):
    """After all of this the server is healthy and serves both accounts."""
    assert account.server.request("GET", "/healthz")[0] == account.server.request("GET", "/readyz")[0] == 200
    for one in (account, other):
        assert one.answer("todo/set", {"update": {one.row: {"done": True}}})[1]["updated"].keys() == {one.row}


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder, Program("serve", "--port", "0", "--data", folder) as program:
        address = program.find(r"Optimist serves (http://127\.0\.0\.1:\d+)")
        server = Server(address, Path(folder) / "optimist.sqlite")
        claims.run(server.sign_up(), server.sign_up())
