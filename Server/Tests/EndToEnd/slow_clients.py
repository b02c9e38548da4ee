# This source file is part of the Optimist open source project, under the MIT licence.
"""Clients that do not read their answers, send large requests or do not send what they announce: the server stays within
its memory, answers the others, and ends when it is told to."""

import http.client
import json
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
from program import Program, eventually  # noqa: E402

USING = ["urn:ietf:params:jmap:core", "urn:x-optimist:rowsync"]
ROWS = 110
claims = Claims()


class Server:
    """A server of its own for each claim, since what one has held the process may keep for later."""

    def __init__(self, folder, *arguments):
        self.program = Program("serve", "--port", "0", "--data", folder / uuid.uuid4().hex, *arguments)
        self.port = int(self.program.find(r"Optimist serves http://127\.0\.0\.1:(\d+)"))

    def megabytes(self):
        """What the process has in memory."""
        done = subprocess.run(
            ["ps", "-o", "rss=", "-p", str(self.program._process.pid)], capture_output=True, text=True, check=True)
        return int(done.stdout) // 1000

    def ask(self, method, path, body=None, token=None, seconds=120):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=seconds)
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
    """Someone with so many to-dos that all of them are 14 MB in two answers."""

    def __init__(self, server, rows=ROWS):
        self.server = server
        entry = {"email": f"{uuid.uuid4().hex}@example.org", "password": uuid.uuid4().hex, "device": {"id": "e2e"}}
        status, _, text = server.ask("POST", "/auth/sign-up", json.dumps(entry))
        assert status == 201, text
        grant = json.loads(text)
        self.token, self.id = grant["access_token"], grant["account_id"]
        for _ in range(0, rows, 10):
            # A few at a time, for the budget of a request's work.
            todos = {str(uuid.uuid4()): {"content": "x" * 65_000} for _ in range(10)}
            status, _, text = self.post(self.calling("todo/set", {"create": todos}))
            assert status == 200, text[:300]

    def calling(self, *calls):
        """A request's body. Each method has its arguments after it."""
        pairs = zip(calls[::2], calls[1::2])
        methods = [[name, {"accountId": self.id, **given}, str(n)] for n, (name, given) in enumerate(pairs)]
        return json.dumps({"using": USING, "methodCalls": methods})

    def post(self, body):
        return self.server.ask("POST", "/jmap/", body, self.token)

    def large(self):
        return self.calling(*["todo/get", {"ids": None}] * 2)

    def send(self, body, buffer=4096):
        """Sends a request and leaves its answer unread. Returns the connection."""
        connection = socket.socket()
        if buffer:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, buffer)
        connection.settimeout(120)
        connection.connect(("127.0.0.1", self.server.port))
        head = f"POST /jmap/ HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {self.token}\r\nContent-Length: {len(body)}\r\n"
        connection.sendall(f"{head}\r\n{body}".encode())
        return connection


def status(connection):
    """The status of an answer. Only its first bytes are read."""
    return int(connection.recv(12).split()[1])


@claims
def unread_answers_hold_their_slots(folder):
    """A session whose answers are not read has no slot for a ninth request, until one of them is read or given up."""
    with Server(folder) as server:
        account = Account(server)
        unread = [account.send(account.large()) for _ in range(8)]
        assert [status(connection) for connection in unread] == [200] * 8
        got, head, text = account.post(account.calling("Core/echo", {}))
        assert (got, head["Retry-After"]) == (429, "1"), (got, text)
        assert Account(server, rows=0).post(account.calling("Core/echo", {}))[0] in (200, 403)
        unread.pop().close()
        eventually("a slot is free", lambda: account.post(account.calling("Core/echo", {}))[0] == 200)
        while unread[0].recv(1 << 20):
            pass
        for connection in unread:
            connection.close()


@claims
def unread_answers_have_a_bound(folder):
    """Forty unread answers of six accounts stay within --memory; past it requests get 503 with Retry-After."""
    with Server(folder, "--memory", "192") as server:
        accounts = [Account(server) for _ in range(6)]
        idle = server.megabytes()
        unread, refusals = [], []
        for number in range(40):
            account = accounts[number % 6]
            connection = account.send(account.large())
            got = status(connection)
            (unread if got == 200 else refusals).append(connection)
            assert got in (200, 503, 429), got
        answer = http.client.parse_headers(refusals[-1].makefile("rb"))
        held = server.megabytes() - idle
        print(f"      {len(unread)} answers unread, {len(refusals)} refused, {held} MB more than idle", flush=True)
        assert refusals and len(unread) >= 6 and answer["Retry-After"] == "1"
        assert held < 192 + 150, held
        assert server.ask("GET", "/healthz")[0] == 200
        for connection in unread + refusals:
            connection.close()
        eventually("there is room again", lambda: accounts[0].post(accounts[0].large())[0] == 200)


@claims
def slow_readers_are_closed(folder):
    """A client that reads 2 KB each five seconds loses its connection, and one that reads 400 KB a second does not."""
    if sys.platform != "linux":
        raise Skip("only Linux tells by /proc which connections a server has")
    with Server(folder) as server:
        account = Account(server)
        slow, steady = account.send(account.large()), account.send(account.large(), buffer=None)
        ends = {}

        def read(name, connection, count, pause):
            received, started = 0, time.monotonic()
            try:
                while (part := connection.recv(count)) and time.monotonic() - started < 200:
                    received += len(part)
                    time.sleep(pause)
            except OSError:
                pass  # Closed, by either side.
            ends[name] = received, time.monotonic() - started

        threads = [threading.Thread(target=read, args=arguments) for arguments in (
            ("slow", slow, 2_000, 5), ("steady", steady, 100_000, 0.25))]
        for thread in threads:
            thread.start()
        # The kernels between them hold some of it, which the slow one still gets after the server has given it up.
        eventually("the slow one is given up", lambda: "slow" in ends or ("steady" in ends and connections(server) == 0), 180)
        # The system has taken some of it ahead, which would still come after the server has given the slow one up.
        slow.close()
        for thread in threads:
            thread.join()
        assert ends["steady"][0] > ROWS * 65_000 * 2, ends
        assert ends["slow"][0] < 1_000_000, ends


def connections(server):
    """How many connections of the server are established."""
    local = f"0100007F:{server.port:04X}"
    with open("/proc/net/tcp") as table:
        return sum(1 for line in table if line.split()[1] == local and line.split()[3] == "01")


@claims
def large_bodies_have_a_bound(folder):
    """Eight legal bodies of one session that parse into thirty times their size are refused or take their turns."""
    with Server(folder) as server:
        account = Account(server, rows=0)
        head, tail = account.calling("Core/echo", {"a": ["#"]}).split('"#"')
        body = head + "[0]," * ((9_990_000 - len(head) - len(tail)) // 4) + "0" + tail
        idle, peak, answers = server.megabytes(), [0], []
        threads = [threading.Thread(target=lambda: answers.append(account.post(body)[:2])) for _ in range(8)]
        for thread in threads:
            thread.start()
        while any(thread.is_alive() for thread in threads):
            peak[0] = max(peak[0], server.megabytes())
            time.sleep(0.05)
        statuses = sorted(status for status, _ in answers)
        print(f"      {statuses}, at most {peak[0] - idle} MB more than idle", flush=True)
        assert set(statuses) <= {200, 503} and 200 in statuses and len(statuses) == 8
        assert all(head["Retry-After"] == "1" for status, head in answers if status == 503)
        assert peak[0] - idle < 650, peak


@claims
def ends_in_time(folder):
    """SIGTERM ends a server within seconds, though a body does not come and an answer is not read."""
    with Server(folder) as server, ExitStack() as open_connections:
        account = Account(server)
        unread = open_connections.enter_context(account.send(account.large()))
        assert status(unread) == 200
        silent = open_connections.enter_context(socket.create_connection(("127.0.0.1", server.port)))
        silent.sendall(f"POST /jmap/ HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {account.token}\r\n"
                       "Content-Length: 5000\r\n\r\n{".encode())
        # Its slot is taken: so the server reads the body.
        code, seconds = server.program.terminate(20)
        print(f"      after {seconds:.1f} s", flush=True)
        assert code == 0 and seconds < 8, (code, seconds)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        claims.run(Path(folder))
