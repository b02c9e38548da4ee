# This source file is part of the Optimist open source project, under the MIT licence.
"""A lab whose servers share its own or an outside PostgreSQL: its state at the next launch, and refusals."""

import os
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
import clusters  # noqa: E402
from claims import Claims  # noqa: E402
from clusters import Node  # noqa: E402
from lab import refused, run_lab, shared  # noqa: E402
from program import eventually, run  # noqa: E402

claims = Claims()


class Running:
    """A lab that is ended in order: a killed lab would leave its PostgreSQL running until its next launch."""

    def __init__(self, folder, database):
        self.folder, self.database = folder, database

    def __enter__(self):
        self.program, lab = run_lab(self.folder, "--database", self.database)
        return lab

    def __exit__(self, *_):
        self.program.terminate()


def serving(lab):
    return [server["running"] for server in lab.call("GET", "servers")["servers"]]


@claims
def own_pair_stays(folder):
    """N9 the lab's own primary returns at the next launch, even after a failover, with rows and sessions."""
    folder.chmod(0o711)
    with Running(folder / "own", "own") as lab:
        a, b = lab.phone("A"), lab.phone("B")
        row = a.add("Before the failover")["id"]
        b.until_shows(row)
        state = lab.call("POST", "database/fail-over")
        assert state["database"] == {"primary": "two"}, state
        refused(400, "badLabRequest", lab.call, "POST", "database/fail-over")
        refused(400, "badLabRequest", lab.call, "PUT", "database/standby", {"following": "often"})
        later = b.add("After it")["id"]
        a.until_shows(later)
    with Running(folder / "own", "own") as lab:
        a, b = lab.phone("A"), lab.phone("B")
        state = lab.call("GET", "servers")
        assert state["database"] == {"primary": "two", "following": "asynchronous"}, state
        for phone in a, b:
            assert phone.session["state"] == "active" and phone.session.get("endedOnServer") is None, phone.session
            for written in row, later:
                phone.until_shows(written)
        again = a.add("At the next launch")["id"]
        b.until_shows(again)
        assert [shared(held) for held in a.server] and {held["id"] for held in a.server} == {row, later, again}, a.server


@claims
def other_database(folder):
    """Three servers share an outside database, which the lab does not manage; the other screens work through them."""
    with Node() as node, Running(folder / "shared", node.url) as lab:
        a, b = lab.phone("A"), lab.phone("B")
        state = lab.call("GET", "servers")
        assert state.get("database") is None, state
        assert serving(lab) == [True, True, True], state
        sentence = refused(400, "badLabRequest", lab.call, "POST", "database/fail-over")
        assert "--database own" in sentence, sentence
        lab.call("POST", "servers/1/kill")
        lab.call("POST", "servers/3/kill")
        assert serving(lab) == [False, True, False], lab.call("GET", "servers")
        row = a.add("With one server left")["id"]
        b.until_shows(row)
        eventually("pictures", lambda: any(
            item["phase"] == "loaded" for section in a.call("GET", "feed")["sections"] for item in section["items"])
            or a.call("POST", "feed/visible", {"ids": [
                item["pose"]["id"] for section in a.call("GET", "feed")["sections"] for item in section["items"]]}))
        lab.call("POST", "servers/1/start")
        assert serving(lab) == [True, True, False], lab.call("GET", "servers")
        refused(404, "notInLab", lab.call, "POST", "servers/9/kill")


@claims
def needs_sense(folder):
    """An invalid database is refused with a message, and a lab with one server explains how to run three."""
    status, _, problem = run("lab", "--database", "mysql://nowhere")
    assert status == 64 and "postgres://" in problem, problem
    status, _, problem = run(
        "lab", "--port", "0", "--data", folder / "none", "--database", f"postgres:///none?host={folder}/nowhere")
    assert status == 1 and "nowhere" in problem, problem
    program, lab = run_lab(folder / "one")
    with program:
        assert lab.call("GET", "servers")["servers"] == []
        sentence = refused(400, "badLabRequest", lab.call, "POST", "servers/1/kill")
        assert "--database" in sentence, sentence


if __name__ == "__main__":
    clusters.run(claims, "N1 N9 the servers of a lab share a PostgreSQL.")
