# This source file is part of the Optimist open source project, under the MIT licence.
"""The command's tools (inspect, schema, proxy), and how serve and lab refuse and end."""

import hashlib
import http.client
import json
import os
import signal
import sqlite3
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
from claims import Claims  # noqa: E402
from lab import run_lab  # noqa: E402
from program import PATIENCE, Program, eventually, run  # noqa: E402

claims = Claims()


def fails(*arguments, saying):
    """Runs a command that must end with 1 and one message on standard error that contains these words."""
    status, said, problem = run(*arguments)
    assert (status, said) == (1, ""), (status, said, problem)
    *logged, sentence = problem.rstrip("\n").split("\n")
    assert sentence.startswith(f"optimist {arguments[0]}: "), problem
    assert not logged or arguments[0] == "lab", problem  # The lab's server logs that it was stopped.
    for word in saying:
        assert str(word) in problem, f"no {word!r} in {problem}"


def content(folder):
    """A hash of every file in a folder."""
    return {file: hashlib.sha256(file.read_bytes()).hexdigest() for file in sorted(folder.rglob("*")) if file.is_file()}


def leaves_alone(file, *command):
    """Whether a command changes nothing in a database's folder, except what SQLite shares between processes."""

    def kept():
        return {name: digest for name, digest in content(file.parent).items() if not name.name.endswith("-shm")}

    before = kept()
    status, _, problem = run(*command)
    assert status == 0, problem
    return kept() == before


def get(address, path, method="GET", body=None, token=None):
    host, port = address.removeprefix("http://").split(":")
    connection = http.client.HTTPConnection(host, int(port), timeout=PATIENCE)
    try:
        headers = {"Content-Type": "application/json"} if body else {}
        if token:
            headers["Authorization"] = f"Bearer {token}"
        connection.request(method, path, body and json.dumps(body), headers)
        answer = connection.getresponse()
        return answer.status, answer.read()
    finally:
        connection.close()


@claims
def no_database(folder):
    """inspect and schema explain the fault of a missing or damaged file, and do not change it."""
    letter, damaged, other = folder / "letter.txt", folder / "damaged.sqlite", folder / "other.sqlite"
    letter.write_text("Dear reader, " * 1000)
    damaged.write_bytes(b"SQLite format 3\0" + b"\xa5" * 8192)
    with sqlite3.connect(other) as database:
        database.execute("CREATE TABLE thing(a, b)")
    before = content(folder)
    for command in ("inspect", "schema"):
        fails(command, letter, saying=["letter.txt", "not a database", "was not changed"])
        fails(command, folder / "nowhere.sqlite", saying=["does not exist", "nowhere.sqlite"])
        fails(command, other, saying=["other.sqlite"])
        fails(command, damaged, saying=["damaged.sqlite"])
        fails(command, folder, saying=[folder.name])
    assert content(folder) == before, "a file was changed or made"


@claims
def newer_version(folder):
    """inspect and schema refuse a database of a newer version with advice."""
    file = folder / "newer.sqlite"
    with sqlite3.connect(file) as database:
        database.execute("CREATE TABLE optimist_meta(name TEXT PRIMARY KEY, value)")
        database.execute("INSERT INTO optimist_meta VALUES ('version', 999)")
    before = content(folder)
    for command in ("inspect", "schema"):
        fails(command, file, saying=["newer version", "999", "Update"])
    assert content(folder) == before


@claims
def inspects_a_running_lab(folder):
    """inspect shows a running phone's outbox without the rows' values, and changes nothing."""
    program, lab = run_lab(folder / "lab")
    with program:
        phone = lab.phone("A")
        phone.add("Sent long ago")
        phone.until_sent()
        phone.network("offline")
        rows = {phone.add(f"Secret {number}")["id"] for number in range(3)}
        eventually("at rest", lambda: phone.device["status"]["phase"] == "offline")
        phone.call("POST", "sign-out")  # So that nothing writes to the file afterwards.
        eventually("paused", lambda: phone.device["status"]["phase"] == "paused")
        file = folder / "lab/devices/A/planner.sqlite"
        status, said, problem = run("inspect", file, "--json")
        assert status == 0, problem
        report = json.loads(said)
        assert report["pendingCount"] == 3 and {row["id"] for row in report["pending"]} == rows, report
        assert {row["kind"] for row in report["pending"]} == {"create"} and report["account"] and report["lastSync"]
        assert report["tables"][0]["name"] == "todo" and report["tables"][0]["rows"] == 4
        status, text, _ = run("inspect", file, "--limit", 1)
        assert status == 0 and "3 pending, 0 rejected, 0 parked" in text and "and 2 more" in text
        assert "Secret" not in said + text, "it shows what people wrote"
        status, said, problem = run("schema", file, "--id", "planner")
        assert status == 0, problem
        exported = json.loads(said)
        assert exported["id"] == "planner" and exported["types"]["todo"]["done"]["type"] == "bool", exported
        # The phone may still finish a write; a command that changes something would do so each time.
        for command in (("inspect", file), ("schema", file, "--id", "planner")):
            eventually("the files stay as they are", lambda: leaves_alone(file, *command))
        assert phone.add("Still writing")["content"] == "Still writing"
        (folder / "planner.json").write_text(said)
    with Program("serve", "--port", "0", "--data", folder / "served", "--schema", folder / "planner.json") as server:
        server.find('with the schema "(planner)"')


@claims
def a_port_taken(folder):
    """serve and lab report that their port is taken, and leave the first server running."""
    with Program("serve", "--port", "0", "--data", folder / "first") as first:
        address = first.find(r"(http://127\.0\.0\.1:\d+)")
        port = address.rpartition(":")[2]
        fails("serve", "--port", port, "--data", folder / "second", saying=[port, "Another program", "--port"])
        fails("lab", "--port", port, "--data", folder / "second-lab", saying=[port, "Another program", "--port"])
        assert get(address, "/healthz")[0] == 200 and first.is_running


@claims
def bad_arguments(folder):
    """Invalid arguments are refused with the usage and the status 64."""
    for arguments in (["serve", "--port", "70000"], ["serve", "--port", "x"], ["lab", "--port", "-1"], ["inspect"],
                      ["serve", "--log-level", "loud"], ["proxy", "--upstream", "nowhere"], ["fly"]):
        status, _, problem = run(*arguments)
        assert status == 64 and "Usage:" in problem, (arguments, status, problem)
    (folder / "bad.json").write_text("{")
    fails("serve", "--data", folder / "d", "--schema", folder / "bad.json", saying=["bad.json", "cut off"])
    fails("serve", "--data", folder / "d", "--schema", folder / "none.json", saying=["none.json", "--schema"])
    fails("serve", "--data", folder / "d", "--schema", folder / "no/s.json", saying=[folder / "no/s.json", "The folder"])
    fails("schema", folder / "no/app.sqlite", saying=["does not exist", folder / "no/app.sqlite"])
    fails("serve", "--data", folder / "bad.json", saying=["bad.json"])
    fails("lab", "--port", "0", "--data", folder / "bad.json", saying=["bad.json"])


@claims
def at_home(folder):
    """Without --data, serve stores its data in the home from HOME, or in XDG_DATA_HOME."""
    home, other = folder / "home", folder / "other"
    place = "Library/Application Support" if sys.platform == "darwin" else ".local/share"
    for environment, data in (
            ({"HOME": str(home), "XDG_DATA_HOME": ""}, home / place),
            ({"HOME": str(home), "XDG_DATA_HOME": str(other)}, home / place if sys.platform == "darwin" else other)):
        with Program("serve", "--port", "0", environment=environment) as server:
            assert server.find(r"Its data is in (\S+)\. ") == str(data / "optimist/server"), server.said
        assert (data / "optimist/server/optimist.sqlite").exists()


@claims
def a_second_version(folder):
    """schema --update keeps manual edits, and serve refuses what a version removes until it is accepted."""
    folder = folder / "versions"
    folder.mkdir()
    app, file, data = folder / "app.sqlite", folder / "schema.json", folder / "served"
    with sqlite3.connect(app) as database:
        database.execute("CREATE TABLE todo(id TEXT PRIMARY KEY NOT NULL, title TEXT, done BOOLEAN)")

    def serves(*options):
        with Program("serve", "--port", "0", "--data", data, "--schema", file, *options) as server:
            return server.find('with the schema "app", version ([0-9]+)')

    file.write_text(run("schema", app)[1])
    schema = json.loads(file.read_text())
    schema["types"]["todo"]["title"] |= {"required": True, "maxBytes": 500}
    schema["types"]["todo"]["@unique"] = [{"columns": ["title"], "onCollision": "mergeInto"}]
    file.write_text(json.dumps(schema))
    assert serves() == "1"
    status, said, problem = run("schema", app, "--update", file)
    assert status == 0 and "is up to date, at version 1" in said, (said, problem)
    with sqlite3.connect(app) as database:
        database.execute("ALTER TABLE todo ADD COLUMN due TEXT")
    status, said, problem = run("schema", app, "--update", file)
    assert status == 0 and "todo.due is new." in said and "is now version 2" in said, (said, problem)
    updated = json.loads(file.read_text())
    schema["version"], schema["types"]["todo"]["due"] = 2, {"type": "string"}
    assert updated == schema, updated
    assert serves() == "2"

    # The file now lacks a column and changes a type. serve reports both.
    updated["version"] = 3
    updated["types"]["todo"]["due"]["type"] = "date"
    del updated["types"]["todo"]["done"]
    file.write_text(json.dumps(updated))
    options = ["--accept", "drop:todo.done", "--accept", "retype:todo.due"]
    status, said, problem = run("serve", "--port", "0", "--data", data, "--schema", file)
    assert (status, said) == (1, "") and problem.rstrip().endswith("\n  " + " ".join(options)), problem
    fails("serve", "--port", "0", "--data", data, "--schema", file, *options, "--accept", "drop:note",
          saying=["--accept drop:note does not match any change"])
    assert run("serve", "--accept", "nonsense")[0] == 64
    assert serves(*options) == serves(*options) == serves() == "3"

    file.write_text(json.dumps({"version": 0, "types": {"a": {"b": {"type": "colour"}}}}))
    status, _, problem = run("serve", "--data", data, "--schema", file)
    assert status == 1 and all(word in problem for word in ("3 faults", '"id"', '"version"', "a.b")), problem
    fails("schema", app, "--update", folder / "none.json", saying=["none.json", "--update"])


@claims
def one_device(folder):
    """serve --one-device allows one device per account; without the option, serve allows any number."""
    for flags, reason in (["--one-device"], "signed_in_elsewhere"), ([], None):
        with Program("serve", "--port", "0", "--data", folder / f"one-device-{reason}", *flags) as server:
            address = server.find(r"(http://127\.0\.0\.1:\d+)")
            tokens = []
            for call, device in ("up", "phone"), ("in", "tablet"):
                entry = {"email": "a@example.org", "password": "correct horse battery", "device": {"id": device}}
                tokens.append(json.loads(get(address, f"/auth/sign-{call}", "POST", entry)[1])["access_token"])
            answers = [get(address, "/.well-known/jmap", token=token) for token in tokens]
            assert [status for status, _ in answers] == [401 if reason else 200, 200], answers
            assert json.loads(answers[0][1]).get("reason") == reason, answers


@claims
def ends_promptly(folder):
    """SIGTERM ends serve, proxy and lab within seconds, even with open streams."""
    with Program("serve", "--port", "0", "--data", folder / "ends") as server:
        address = server.find(r"(http://127\.0\.0\.1:\d+)")
        idle = http.client.HTTPConnection(address.removeprefix("http://"))
        idle.connect()
        check_end("serve", server)
        idle.close()
    program, lab = run_lab(folder / "ends-lab")
    with program, lab.phone("A").follow():
        lab.phone("A").add("There after the next launch")
        check_end("lab", program)
    program, lab = run_lab(folder / "ends-lab")
    with program:
        assert [todo["content"] for todo in lab.phone("A").todos] == ["There after the next launch"]


def check_end(name, program):
    status, seconds = program.terminate()
    print(f"      {name} ended {seconds:.1f} s after SIGTERM", flush=True)
    assert status in (0, -signal.SIGTERM), f"{name} ended with {status}:\n{program.said}"
    # An idle connection may last 60 s, and a stream forever.
    assert seconds < 30, f"{name} took {seconds:.1f} s"


@claims
def proxies(folder):
    """proxy forwards to a server, drops responses, and is cut and restored over its admin endpoint."""
    with (
        Program("serve", "--port", "0", "--data", folder / "behind") as server,
        Program("proxy", "--upstream", server.find(r"http://(127\.0\.0\.1:\d+)"), "--admin", "0") as proxy,
    ):
        address = "http://" + proxy.find(r"(127\.0\.0\.1:\d+) →")
        admin = proxy.find(r"admin: (http://127\.0\.0\.1:\d+)")
        assert get(address, "/healthz")[0] == 200
        assert get(admin, "/drop-next-responses", "POST", {"count": 1})[0] == 204
        assert is_cut(address), "the reply was not lost"
        assert get(address, "/healthz")[0] == 200
        assert get(admin, "/conditions", "PUT", {"profile": "offline"})[0] == 200
        assert is_cut(address), "not offline"
        assert get(admin, "/conditions", "PUT", {"profile": "5g"})[0] == 400
        assert get(admin, "/conditions", "PUT", {"profile": "online"})[0] == 200
        assert get(address, "/healthz")[0] == 200
        counters = json.loads(get(admin, "/counters")[1])
        assert counters["droppedResponses"] == 1 and counters["connections"] >= 3, counters
        check_end("proxy", proxy)


def is_cut(address):
    try:
        get(address, "/healthz")
    except (OSError, http.client.HTTPException):
        return True
    return False


PLACES = Path(__file__).parents[1] / "OptimistGazetteerTests/Fixtures"


def imports(file, *more):
    """The arguments that create a gazetteer of a few real places."""
    return "gazetteer", "import", "--cities", PLACES / "cities.txt", *more, "--to", file


@claims
def names_places(folder):
    """gazetteer creates a file and looks places up in it, and serve and lab accept it."""
    file = folder / "gazetteer.sqlite"
    status, said, problem = run(*imports(file, "--admin", PLACES / "admin1CodesASCII.txt", "--names",
                                         PLACES / "alternateNamesV2.txt"))
    assert status == 0 and "18 places" in said and "© GeoNames" in said, (status, said, problem)
    status, said, _ = run("gazetteer", "lookup", "--in", file, "35.68", "139.76", "--lang", "ja")
    assert status == 0 and "東京 (ja)" in said and "東京都 (ja)" in said, said
    for order in (["-18.14", "178.44", "--lang", "fr"], ["--lang", "fr", "-18.14", "178.44"]):
        status, said, _ = run("gazetteer", "lookup", "--in", file, *order)
        assert status == 0 and "Suva (local name)" in said and "Division centrale (fr)" in said, said
    assert run("gazetteer", "lookup", "--in", file, "0", "-150")[:2] == (0, "No populated place is within 50 km.\n")
    with Program("serve", "--port", "0", "--data", folder / "places", "--gazetteer", file) as server:
        address = server.find(r"(http://127\.0\.0\.1:\d+)")
        entry = {"email": "a@example.org", "password": "correct horse battery", "device": {"id": "phone"}}
        token = json.loads(get(address, "/auth/sign-up", "POST", entry)[1])["access_token"]
        status, answer = get(address, "/places?lat=35.68&lon=139.76&lang=ja,en", token=token)
        assert status == 200 and json.loads(answer)["place"] == "東京", answer
    for command in "serve", "lab":
        fails(command, "--port", "0", "--data", folder / "no-places", "--gazetteer", folder / "none.sqlite",
              saying=["none.sqlite", "optimist gazetteer import"])


@claims
def refuses_no_places(folder):
    """gazetteer reports the fault of a file or an argument, and where to get the right one."""
    file = folder / "refused.sqlite"
    fails("gazetteer", "import", "--cities", PLACES / "alternateNamesV2.txt", "--to", file,
          saying=["alternateNamesV2.txt", "cities500.txt", "https://download.geonames.org/export/dump/"])
    fails("gazetteer", "lookup", "--in", file, "1", "2", saying=["refused.sqlite", "optimist gazetteer import"])
    letter = folder / "letter.txt"
    letter.write_text("Dear reader")
    fails(*imports(letter), saying=["letter.txt", "not a gazetteer"])
    assert letter.read_text() == "Dear reader" and not file.exists()
    for point in (["91", "0"], ["1"], ["1", "2", "3"], ["1", "x"], ["1", "nan"], ["1", "2", "--langs", "ja"], []):
        status, _, problem = run("gazetteer", "lookup", "--in", letter, *point)
        assert status == 64 and "Usage:" in problem, (point, status, problem)
    assert "https://download.geonames.org/export/dump/" in run("gazetteer", "import", "--help")[1]


@claims
def killed_import(folder):
    """A killed import leaves the former gazetteer, and the next import removes its leftovers."""
    home = folder / "killed"
    home.mkdir()
    file, pipe = home / "gazetteer.sqlite", folder / "names.pipe"
    assert run(*imports(file))[0] == 0
    before = content(home)
    os.mkfifo(pipe)
    with Program(*imports(file, "--names", pipe)) as program, open(pipe, "wb"):  # Opens once the cities are read.
        program.kill()
    after = content(home)
    assert after[file] == before[file] and len(after) == 2, after
    assert run(*imports(file))[0] == 0 and content(home).keys() == {file}


@claims
def imports_at_once(folder):
    """If two imports write one file, the later one wins, and the other reports it."""
    home = folder / "at-once"
    home.mkdir()
    file, pipe = home / "gazetteer.sqlite", folder / "late-names.pipe"
    os.mkfifo(pipe)
    with Program(*imports(file, "--names", pipe)) as program:
        with open(pipe, "wb") as names:
            assert run(*imports(file))[0] == 0
            before = content(home)
            names.write((PLACES / "alternateNamesV2.txt").read_bytes())
        program.find("(Another import)")
        eventually("ended", lambda: not program.is_running)
    assert content(home) == before and before.keys() == {file}


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        claims.run(Path(folder))
