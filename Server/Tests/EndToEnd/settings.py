# This source file is part of the Optimist open source project, under the MIT licence.
"""The sources of `optimist serve`'s settings, and how it refuses invalid ones."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
from claims import Claims  # noqa: E402
from guides import DOCUMENTATION  # noqa: E402
from phones import free_port  # noqa: E402
from program import OPTIMIST, PATIENCE, Program, eventually, run  # noqa: E402

claims = Claims()


def settings_file(folder, content):
    file = folder / "settings.json"
    file.write_text(content if isinstance(content, str) else json.dumps(content))
    return file


def printed(*arguments, **environment):
    """The settings as --print-configuration prints them: name, value and source."""
    status, said, problem = run("serve", "--print-configuration", *arguments, environment=environment)
    assert status == 0, problem
    return {line.split()[0]: tuple(line.split()[1:]) for line in said.splitlines()}, said


@claims
def order(folder):
    """O10 a flag overrides the environment, the environment the file, and the file the default."""
    file = settings_file(folder, {
        "port": 1, "admin-port": 2, "memory": 300, "one-device": True, "behind-proxy": True, "accept": ["drop:Todo"]})
    found, _ = printed(
        "--config", file, "--port", "3", "--no-one-device", OPTIMIST_PORT="4", OPTIMIST_ADMIN_PORT="5",
        OPTIMIST_BEHIND_PROXY="false", OPTIMIST_DATA=str(folder / "data"))
    assert found["port"] == ("3", "--port"), found
    assert found["admin-port"] == ("5", "OPTIMIST_ADMIN_PORT"), found
    assert found["memory"] == ("300", str(file)), found
    assert found["one-device"] == ("false", "--one-device"), found
    assert found["behind-proxy"] == ("false", "OPTIMIST_BEHIND_PROXY"), found
    assert found["accept"] == ("drop:Todo", str(file)), found
    assert found["data"] == (str(folder / "data"), "OPTIMIST_DATA"), found
    assert found["connections-per-address"] == ("512", "default"), found
    # The environment may name the file as well.
    assert printed(OPTIMIST_CONFIG=str(file))[0]["port"] == ("1", str(file))


APPS = ["A1B2C3D4E5.org.example.app", "A1B2C3D4E5.org.example.beta"]
STORE = "https://apps.example.org/app"


@claims
def apps_of_links(folder):
    """O10 the apps that open links, and their store, come from flags, the environment or a file."""
    names = ",".join(APPS)
    file = settings_file(folder, {"app-id": APPS, "app-store": STORE})
    flags = [word for app in APPS for word in ("--app-id", app)]
    for found, source in (
        (printed(*flags)[0], "--app-id"), (printed(OPTIMIST_APP_ID=names)[0], "OPTIMIST_APP_ID"),
        (printed("--config", file)[0], str(file)),
    ):
        assert found["app-id"] == (names, source), found
    assert found["app-store"] == (STORE, str(file)), found
    assert printed()[0]["app-id"] == ("-", "default")
    fails("serve", "--port", "0", "--data", folder / "apps", "--app-store", STORE, saying=["--app-id", APPS[0]])


@claims
def secrets_of_guides(folder):
    """the commands of the guides write secrets into files that only their user can read."""
    place = folder / "guides"
    place.mkdir()
    environment = {**os.environ, "PATH": f"{Path(OPTIMIST).resolve().parent}:{os.environ['PATH']}"}
    for page, name in ("Webhooks.md", "webhook.secret"), ("Deploying.md", "secret"):
        [command] = re.findall(rf"^.*optimist .*> {name}\b.*$", (DOCUMENTATION / page).read_text(), re.MULTILINE)
        subprocess.run(["bash", "-c", command], cwd=place, env=environment, timeout=PATIENCE, check=True)
        assert (place / name).stat().st_mode & 0o777 == 0o600 and (place / name).read_text(), name


@claims
def help_without_guides(folder):
    """the help and the manual pages name no file of Documentation, because no package has it."""
    status, said, _ = run("--experimental-dump-help")
    assert status == 0 and "optimist webhook secret" in said and "Documentation/" not in said


@claims
def one_hook(folder):
    """O10 D7 a second --hook is refused, and a flag overrides the hook of the environment."""
    hooks = [f"http://127.0.0.1:{port}/before" for port in (1, 2)]
    status, _, problem = run("serve", "--print-configuration", "--hook", hooks[0], "--hook", hooks[1])
    assert status == 64 and "only one hook" in problem, problem
    found, _ = printed("--hook", hooks[0], OPTIMIST_HOOK=hooks[1])
    assert found["hook"] == (hooks[0], "--hook"), found
    assert printed(OPTIMIST_HOOK=hooks[1])[0]["hook"] == (hooks[1], "OPTIMIST_HOOK")


DATABASE = "postgres://127.0.0.1:1/nowhere"


@claims
def place(folder):
    """O10 the first source that names a directory or a database decides where the data is."""
    directory = str(folder / "place")
    file = settings_file(folder, {"data": directory})
    for arguments, environment, data, database in [
        (["--database", DATABASE], {"OPTIMIST_DATA": directory}, ("-", "default"), (DATABASE, "--database")),
        (["--data", directory], {"OPTIMIST_DATABASE": DATABASE}, (directory, "--data"), ("-", "default")),
        (["--config", file], {"OPTIMIST_DATABASE": DATABASE}, ("-", "default"), (DATABASE, "OPTIMIST_DATABASE")),
        (["--config", file, "--database", DATABASE], {}, ("-", "default"), (DATABASE, "--database")),
    ]:
        found, _ = printed(*arguments, **environment)
        assert (found["data"], found["database"]) == (data, database), (arguments, found)


@claims
def place_of_other_commands(folder):
    """O10 every other command finds the data in the same way as the server."""
    directory = str(folder / "place")
    for command in [
        ["check"], ["backup", folder / "copy"], ["restore", folder / "copy"], ["health"], ["account", "list"],
        ["account", "export", "ann@example.org"],
    ]:
        status, _, problem = run(*command, "--data", directory, environment={"OPTIMIST_DATABASE": DATABASE})
        assert status == 1 and "127.0.0.1" not in problem, (command, problem)
        database = ["--database", DATABASE]
        status, _, problem = run(
            *command, *database, environment={"OPTIMIST_DATA": directory, "OPTIMIST_SECRET": run("secret")[1].strip()})
        assert status == 1 and ("127.0.0.1" in problem or "does not contain a backup" in problem), (command, problem)
    status, _, problem = run("vacuum", environment={"OPTIMIST_DATABASE": DATABASE})
    assert status == 64 and "VACUUM FULL" in problem, problem
    status, _, problem = run("epoch", "begin", "--data", directory, environment={"OPTIMIST_DATABASE": DATABASE})
    assert status == 64 and "--database" in problem, problem


@claims
def two_places(folder):
    """O10 a source that names a directory and a database is refused."""
    both = {"OPTIMIST_DATA": str(folder / "place"), "OPTIMIST_DATABASE": DATABASE}
    for command in ["serve"], ["check"], ["account", "list"]:
        status, _, problem = run(*command, "--data", folder, "--database", DATABASE)
        assert status == 64 and "Name --data or --database, not both." in problem, problem
        status, _, problem = run(*command, environment=both)
        assert status == 64 and "Name OPTIMIST_DATA or OPTIMIST_DATABASE, not both." in problem, problem
    file = settings_file(folder, {"data": str(folder / "place"), "database": DATABASE})
    status, _, problem = run("serve", "--config", file)
    assert status == 64 and f'Name {file}: "data" or {file}: "database", not both.' in problem, problem


@claims
def secrets(folder):
    """O10 neither a password in a database URL nor the servers' secret is printed."""
    found, said = printed(OPTIMIST_DATABASE="postgres://ann:hunter2@db/app", OPTIMIST_SECRET="quite-a-secret")
    assert found["database"] == ("postgres://ann@db/app", "OPTIMIST_DATABASE"), found
    assert found["secret"] == ("(hidden)", "OPTIMIST_SECRET"), found
    assert "hunter2" not in said and "quite-a-secret" not in said, said


@claims
def refused(folder):
    """O10 an unknown key, an invalid value and a broken file are refused with a message that names the place."""
    file = folder / "settings.json"
    for content, words in [
        ({"prot": 1}, ['"prot" is not a setting', "port"]),
        ({"port": "many"}, ['"port" must be a whole number']),
        ({"sign-up": None}, ['"sign-up" must be a string']),
        ({"sign-up": {"closed": True}}, ['"sign-up" must be a string']),
        ({"sign-up": ["closed"]}, ['"sign-up" must be a string']),
        ({"port": 1.5}, ['"port" must be a whole number']),
        ({"port": None}, ['"port" must be a whole number']),
        ({"one-device": 1}, ['"one-device" must be true or false']),
        ({"one-device": None}, ['"one-device" must be true or false']),
        ({"accept": None}, ['"accept" must be a list']),
        ({"accept": ["drop:Todo", 1]}, ['"accept" must be a list']),
        ({"accept-time": "today"}, ['"accept-time"', "not a day"]),
        ({"port": 65_536}, ['"port"', "0 to 65535"]),
        ({"one-device": "often"}, ['"one-device" must be true or false']),
        ({"accept": "drop:Todo"}, ['"accept" must be a list']),
        ({"log-level": "loud"}, ['"log-level"', "not a log level"]),
        ({"app-id": ["org.example.app"]}, ['"app-id"', "a team id of 10 letters or digits", APPS[0]]),
        ({"app-id": APPS[0]}, ['"app-id" must be a list']),
        ({"app-store": STORE.replace("https", "http")}, ['"app-store"', "an https URL"]),
        ([1], ["one JSON object"]),
        ("{", ["one JSON object"]),
    ]:
        settings_file(folder, content)
        status, said, problem = run("serve", "--config", file)
        assert status != 0 and not said, (content, said)
        assert all(word in problem for word in [str(file), *words]), (content, problem)
    status, _, problem = run("serve", "--config", folder / "none.json")
    assert status != 0 and "none.json cannot be read" in problem, problem
    status, _, problem = run("serve", "--print-configuration", environment={"OPTIMIST_PORT": "many"})
    assert status != 0 and "OPTIMIST_PORT must be a whole number" in problem, problem


@claims
def serves(folder):
    """O10 a server runs with its file's settings, including the port and the data's place."""
    file = settings_file(folder, {"port": 0, "data": str(folder / "served"), "log-format": "json"})
    program = Program("serve", "--config", file)
    with program:
        program.find(r"Optimist serves (http://127\.0\.0\.1:\d+)")
        assert (folder / "served" / "optimist.sqlite").exists()


def fails(*arguments, saying):
    """Runs a command that must end with 1 and a message that contains these words."""
    status, said, problem = run(*arguments)
    assert (status, said) == (1, ""), (status, said, problem)
    assert all(str(word) in problem for word in saying), problem


def answers(port):
    """Whether a server accepts connections at a port."""
    try:
        socket.create_connection(("127.0.0.1", port), PATIENCE).close()
        return True
    except OSError:
        return False


@claims
def no_address(folder):
    """serve reports an address of another machine or a forbidden port, and names the setting."""
    for host in "192.0.2.1", "no-such-machine.invalid":
        fails("serve", "--host", host, "--port", "0", "--data", folder / "no-address",
              saying=[host, "not an address of this machine", "--host"])


@claims
def remembers_its_schema(folder):
    """O13 a start without --schema uses the data's schema, even from a backup, and writes no other."""
    data, backup, file = folder / "remembers", folder / "remembers-backup", folder / "notes.json"
    schema = {"id": "notes", "version": 1, "types": {"note": {"text": {"type": "string"}}}}
    file.write_text(json.dumps(schema))

    def serves(data, *options):
        with Program("serve", "--port", "0", "--data", data, *options) as server:
            return server.find('with the schema "([a-z]+", version [0-9]+)'), server.said

    assert serves(data, "--schema", file)[0] == 'notes", version 1'
    assert serves(data)[0] == 'notes", version 1'
    assert not (data / "schema.json").exists(), "a sample was written into data that has a schema"
    with Program("serve", "--port", "0", "--data", data) as server:
        server.find("(Optimist serves)")
        fails("serve", "--port", "0", "--data", data, saying=["Another server is using"])
        assert not (data / "schema.json").exists()
    assert run("backup", backup, "--data", data)[0] == 0
    restored = folder / "remembers-restored"
    assert run("restore", backup, "--data", restored)[0] == 0
    assert serves(restored)[0] == 'notes", version 1'
    # A later version next to the data is served, and an outdated one is not.
    own = restored / "schema.json"
    own.write_text(json.dumps({**schema, "version": 2}))
    assert serves(restored)[0] == 'notes", version 2'
    for other in {**schema, "version": 1}, {**schema, "id": "others", "version": 9}:
        own.write_text(json.dumps(other))
        found, said = serves(restored)
        assert found == 'notes", version 2' and "Ignoring " in said, said
    own.write_text(json.dumps({**schema, "version": 2, "types": {}}))
    fails("serve", "--port", "0", "--data", restored, saying=["has changed but is still version 2"])


@claims
def reader_that_leaves(folder):
    """A command whose reader has left ends silently, and a server keeps running."""

    def unread(*arguments, handler):
        read, write = os.pipe()
        os.close(read)
        try:
            return subprocess.Popen(
                [OPTIMIST, *map(str, arguments)], stdout=write, stderr=subprocess.PIPE, text=True, restore_signals=False,
                preexec_fn=lambda: signal.signal(signal.SIGPIPE, handler))
        finally:
            os.close(write)

    data = folder / "unread"
    with Program("serve", "--port", "0", "--data", data) as server:
        server.find("(Optimist serves)")
    for handler in signal.SIG_IGN, signal.SIG_DFL:
        for command in ["secret"], ["account", "invite", "--data", data], ["check", "--data", data]:
            with unread(*command, handler=handler) as process:
                _, problem = process.communicate(timeout=PATIENCE)
                assert process.returncode in (141, -signal.SIGPIPE) and not problem, (command, process.returncode, problem)
    port = free_port()
    with unread("serve", "--port", port, "--data", data, "--log-format", "json", "--log-level", "debug",
                handler=signal.SIG_IGN) as process:
        process.stderr.close()
        try:
            eventually("it answers", lambda: answers(port))
            assert process.poll() is None
        finally:
            process.kill()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        claims.run(Path(folder))
