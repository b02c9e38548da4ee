# This source file is part of the Optimist open source project, under the MIT licence.
"""Clients that do not read their answers, send large requests or do not send what they announce: the server stays
within its memory, answers the others, and ends on request."""

import http.client
import json
import re
import socket
import subprocess
import sys
import tempfile
import threading
import time
import uuid
from contextlib import ExitStack
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
from claims import Claims, Skip  # noqa: E402
from program import PATIENCE, Program, eventually  # noqa: E402

USING = ["urn:ietf:params:jmap:core", "urn:x-optimist:rowsync"]
ROWS, PAGES = 30, 7
# Fewer bytes than an answer with all rows has.
LARGE = ROWS * PAGES * 65_000
# For clients that should stay although they do not read: longer than a busy machine needs for a claim.
UNHURRIED = ["--reader-patience", "3600"]
claims = Claims()


class Server:
    """A separate server for each claim, because a process may keep freed memory."""

    def __init__(self, folder, *arguments):
        self.program = Program("serve", "--port", "0", "--data", folder / uuid.uuid4().hex, *arguments)
        self.port = int(self.program.find(r"Optimist serves http://127\.0\.0\.1:(\d+)"))

    def megabytes(self):
        """The memory of the process."""
        done = subprocess.run(
            ["ps", "-o", "rss=", "-p", str(self.program._process.pid)], capture_output=True, text=True, check=True)
        return int(done.stdout) // 1000

    def ask(self, method, path, body=None, token=None):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        try:
            connection.request(method, path, body, {"Authorization": f"Bearer {token}"} if token else {})
            answer = connection.getresponse()
            return answer.status, answer.headers, answer.read()
        finally:
            connection.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.program.__exit__()


class Account:
    """A user with 2 MB of to-dos."""

    def __init__(self, server, rows=ROWS):
        self.server = server
        entry = {"email": f"{uuid.uuid4().hex}@example.org", "password": uuid.uuid4().hex, "device": {"id": "e2e"}}
        status, _, text = server.ask("POST", "/auth/sign-up", json.dumps(entry))
        assert status == 201, text
        grant = json.loads(text)
        self.token, self.id = grant["access_token"], grant["account_id"]
        for _ in range(0, rows, 10):
            # A few at a time, because of the work budget of a request.
            todos = {str(uuid.uuid4()): {"content": "x" * 65_000} for _ in range(10)}
            status, _, text = self.post(self.calling("todo/set", {"create": todos}))
            assert status == 200, text[:300]

    def calling(self, *calls):
        """A request's body. Each method is followed by its arguments."""
        pairs = zip(calls[::2], calls[1::2])
        methods = [[name, {"accountId": self.id, **given}, str(n)] for n, (name, given) in enumerate(pairs)]
        return json.dumps({"using": USING, "methodCalls": methods})

    def post(self, body):
        return self.server.ask("POST", "/jmap/", body, self.token)

    def large(self):
        """Requests all to-dos several times, which makes an answer of 14 MB."""
        return self.calling(*["todo/changes", {"snapshot": {}}] * PAGES)

    def send(self, body, buffer=4096):
        """Sends a request and leaves its answer unread. Returns the connection."""
        connection = socket.socket()
        if buffer:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, buffer)
        connection.settimeout(PATIENCE)
        connection.connect(("127.0.0.1", self.server.port))
        head = f"POST /jmap/ HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {self.token}\r\nContent-Length: {len(body)}\r\n"
        connection.sendall(f"{head}\r\n{body}".encode())
        return connection

    def send_large(self, buffer):
        """Requests 14 MB, and reads only the first bytes of the answer. Returns the connection.

        On a busy machine a request may exceed its work budget. Its answer is then short, and the request is repeated.
        """
        while True:
            connection = self.send(self.large(), buffer)
            assert status(connection) == 200
            head = connection.recv(1_000, socket.MSG_PEEK)
            if int(re.search(rb"(?i)content-length: *(\d+)", head)[1]) > LARGE:
                return connection
            connection.close()


def status(connection):
    """The status of an answer. Only its first bytes are read."""
    return int(connection.recv(12).split()[1])


@claims
def unread_answers_hold_their_slots(folder):
    """A session with eight unread answers has no slot for another request until one answer is read or abandoned."""
    with Server(folder, *UNHURRIED) as server:
        account = Account(server)
        # The connection that is read has a large buffer, because a small buffer makes any reader slow. Without an
        # explicit size, the buffer may grow until it holds the complete answer.
        unread = [account.send_large(4_096 if number else 1_048_576) for number in range(8)]
        got, head, text = account.post(account.calling("Core/echo", {}))
        assert (got, head["Retry-After"]) == (429, "1"), (got, text)
        assert Account(server, rows=0).post(account.calling("Core/echo", {}))[0] in (200, 403)
        unread.pop().close()
        eventually("a slot is free", lambda: account.post(account.calling("Core/echo", {}))[0] == 200)
        answer = unread[0].makefile("rb")
        answer.readline()
        length = int(http.client.parse_headers(answer)["Content-Length"])
        assert length > LARGE and len(answer.read(length)) == length
        for connection in unread:
            connection.close()


@claims
def unread_answers_have_a_bound(folder):
    """Four accounts' unread answers stay within --memory: large requests get 503, and a fifth account is served."""
    with Server(folder, "--memory", "256", *UNHURRIED) as server:
        accounts = [Account(server) for _ in range(4)]
        idle = server.megabytes()
        unread = [account.send(account.large()) for _ in range(7) for account in accounts]
        statuses = [status(connection) for connection in unread]
        assert set(statuses) <= {200, 503} and statuses.count(200) > 4, statuses
        for account in accounts:
            got, head, text = account.post(account.calling("Core/echo", {"a": "x" * 9_000_000}))
            assert (got, head["Retry-After"]) == (503, "1"), (got, text[:300])
        held = server.megabytes() - idle
        print(f"      {statuses.count(200)} answers unread, {statuses.count(503)} refused, {held} MB more than idle", flush=True)
        assert held < 256, held
        newcomer = Account(server, rows=0)
        assert newcomer.post(newcomer.calling("Core/echo", {}))[0] == 200
        row = {"create": {str(uuid.uuid4()): {"content": "x" * 20_000}}}
        got, _, text = newcomer.post(newcomer.calling("todo/set", row, "todo/get", {"ids": None}))
        assert got == 200 and len(text) > 20_000, (got, text[:300])
        for connection in unread:
            connection.close()
        eventually("there is room again", lambda: accounts[0].post(accounts[0].large())[0] == 200)


@claims
def slow_readers_are_closed(folder):
    """A client that reads 2 KB in five seconds loses its connection; one at 20 KB a second keeps it."""
    if sys.platform != "linux":
        raise Skip("only Linux tells by /proc which connections a server has")
    with Server(folder, "--reader-patience", "10") as server, ExitStack() as open_connections:
        account = Account(server)
        paces = {"slow": (2_000, 5), "steady": (2_000, 0.1)}
        readers = {(pace, buffer): open_connections.enter_context(account.send(account.large(), buffer))
                   for pace in paces for buffer in (4_096, 65_536, None)}
        started, ends, is_over = time.monotonic(), {}, threading.Event()

        def read(name):
            received, due = 0, started
            count, pause = paces[name[0]]
            while is_connected(server, readers[name]) and not is_over.is_set():
                if time.monotonic() >= due:
                    received += len(readers[name].recv(count))
                    due += pause
                is_over.wait(0.05)
            ends[name] = received, round(time.monotonic() - started, 1), is_connected(server, readers[name])

        threads = [threading.Thread(target=read, args=[name]) for name in readers]
        for thread in threads:
            thread.start()
        eventually(lambda: f"the slow ones are given up: {ends}", lambda: len(ends) >= 3)
        is_over.wait(max(0, started + 13 - time.monotonic()))
        is_over.set()
        for thread in threads:
            thread.join()
        print(f"      {ends}", flush=True)
        assert all((name[0] == "steady") == is_open for name, (_, _, is_open) in ends.items()), ends


def is_connected(server, connection):
    """Whether the server has not closed a connection."""
    ends = f"0100007F:{server.port:04X}", f"0100007F:{connection.getsockname()[1]:04X}", "01"
    with open("/proc/net/tcp") as table:
        return any(tuple(line.split()[1:4]) == ends for line in table)


@claims
def large_bodies_have_a_bound(folder):
    """Eight valid bodies that parse into thirty times their size are refused or processed in turn."""
    with Server(folder) as server:
        account = Account(server, rows=0)
        head, tail = account.calling("Core/echo", {"a": ["#"]}).split('"#"')
        body = head + "[0]," * ((4_000_000 - len(head) - len(tail)) // 4) + "0" + tail
        idle, peak, answers = server.megabytes(), [0], []
        threads = [threading.Thread(target=lambda: answers.append(account.post(body)[:2])) for _ in range(8)]
        for thread in threads:
            thread.start()
        while any(thread.is_alive() for thread in threads):
            peak[0] = max(peak[0], server.megabytes())
            time.sleep(0.05)
        statuses = sorted(status for status, _ in answers)
        print(f"      {statuses}, at most {peak[0] - idle} MB more than idle", flush=True)
        assert set(statuses) <= {200, 503} and 503 in statuses and len(statuses) == 8
        assert all(head["Retry-After"] == "1" for status, head in answers if status == 503)
        assert account.post(body)[0] == 200, "a request that is alone is let in"
        assert peak[0] - idle < 300, peak


@claims
def ends_in_time(folder):
    """SIGTERM ends a server within seconds, even with a missing body and an unread answer."""
    with Server(folder, *UNHURRIED) as server, ExitStack() as open_connections:
        account = Account(server)
        unread = open_connections.enter_context(account.send(account.large()))
        assert status(unread) == 200
        silent = open_connections.enter_context(socket.create_connection(("127.0.0.1", server.port)))
        silent.sendall(f"POST /jmap/ HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {account.token}\r\n"
                       "Content-Length: 5000\r\n\r\n{".encode())
        # Its slot is taken, so the server is reading the body.
        code, seconds = server.program.terminate()
        print(f"      after {seconds:.1f} s", flush=True)
        # While it runs, a body may take 60 s and an answer 120 s.
        assert code == 0 and seconds < 30, (code, seconds)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        claims.run(Path(folder))
