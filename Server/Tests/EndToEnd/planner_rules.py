# This source file is part of the Optimist open source project, under the MIT licence.
"""The planner's promises, through the control API of a running lab: planner_rules.py http://127.0.0.1:8080"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
from claims import Claims  # noqa: E402
from lab import Lab, pair, refused, shared  # noqa: E402
from program import eventually  # noqa: E402

MAX_CONTENT_BYTES = 65_536
claims = Claims()


@claims
def columns_merge(lab):
    """Two phones edit different columns of one to-do offline: both edits survive on both, whichever arrives first."""
    a, b = pair(lab)
    for first, second in ((a, b), (b, a)):
        row = first.add("Common")["id"]
        second.until_shows(row)
        for phone in (a, b):
            phone.network("offline")
        first.edit(row, content="Common, edited")
        second.edit(row, done=True)
        first.network("online")
        first.until_sent()
        assert second.shown(row)["content"] == "Common" and second.outbox
        second.network("online")
        for phone in (a, b):
            phone.until_shows(row, content="Common, edited", done=True)
            assert shared(phone.shown(row)) == shared(phone.held(row))


@claims
def refusals(lab):
    """A refused edit returns with the server's values and keeps the text, and rows after it are sent."""
    a, b = pair(lab)
    row = a.add("As the server has it", priority=2)["id"]
    a.until_sent()
    long, new = "x" * (MAX_CONTENT_BYTES + 1), "n" * (MAX_CONTENT_BYTES + 1)
    a.network("offline")
    a.edit(row, content=long)
    created = a.add(new)["id"]
    behind = a.add("Behind")["id"]
    a.network("online")
    b.until_shows(behind)
    eventually(lambda: f"two rejections: {a.device}", lambda: len(a.rejections) == 2)
    by_row = {rejection["id"]: rejection for rejection in a.rejections}
    assert by_row[row]["mine"]["content"] == long and by_row[row]["server"]["content"] == "As the server has it"
    assert by_row[created]["mine"]["content"] == new and by_row[created]["server"] is None
    for rejection in by_row.values():
        assert (rejection["code"], rejection["column"]) == ("tooLarge", "content"), rejection["code"]
        assert rejection["message"] and "xx" not in rejection["message"], "what people wrote is in a message"
    assert a.shown(row)["content"] == "As the server has it" and a.shown(created) is None
    assert a.outbox == [] and a.device["rejected"] == 2

    a.call("POST", f"rejections/{by_row[row]['number']}/retry", {"edits": {"content": "Shorter"}})
    b.until_shows(row, content="Shorter", priority=2)
    a.call("DELETE", f"rejections/{by_row[created]['number']}")
    assert a.rejections == [] and a.device["rejected"] == 0
    refused(404, "unknownRejection", a.call, "DELETE", f"rejections/{by_row[created]['number']}")
    assert shared(a.shown(row)) == shared(a.held(row)) and a.held(created) is None


@claims
def refused_at_once(lab):
    """A refusal appears as one change, from the user's value directly to the server's."""
    a, _ = pair(lab)
    row = a.add("Server's")["id"]
    a.until_sent()
    with a.follow() as timeline:

        def shown():
            return [event["text"][:8] for event in timeline.events if event.get("row") == row and event["kind"] != "write"]

        a.edit(row, content="y" * (MAX_CONTENT_BYTES + 1))
        eventually("rejected", lambda: a.rejections)
        a.edit(row, content="The end")
        eventually("the end is shown", lambda: "The end" in shown())
    texts = shown()
    changes = [text for text, before in zip(texts, [None, *texts]) if text != before]
    assert changes == ["yyyyyyyy", "Server's", "The end"], changes


@claims
def crashes(lab):
    """A phone that crashes keeps pending rows, and sends them after its restart."""
    a, b = pair(lab)
    a.network("offline")
    rows = [a.add(f"Before the crash {number}")["id"] for number in range(20)]
    pending = a.outbox
    a.call("POST", "crash")
    assert a.todos is None and not a.device["running"], "a phone that is off shows nothing"
    refused(409, "deviceIsDown", a.add, "On a dead phone")
    a.call("POST", "restart")
    assert [entry["id"] for entry in a.outbox] == [entry["id"] for entry in pending]
    assert a.device["pending"] == 20 and not b.shown(rows[0])
    a.network("online")
    for row in rows:
        b.until_shows(row)
    a.until_sent()


@claims
def signing_out(lab):
    """Signing out pauses sync and keeps pending rows; signing in sends them."""
    a, b = pair(lab)
    a.call("POST", "sign-out")
    eventually("paused", lambda: a.device["status"]["phase"] == "paused")
    row = a.add("Written while signed out")["id"]
    a.call("POST", "restart")
    assert not a.device["signedIn"] and [entry["id"] for entry in a.outbox] == [row]
    assert a.held(row) is None and a.shown(row)["sync"] == "pending"
    refused(403, "session.signInRefused", a.call, "POST", "sign-in", {"password": "another one"})
    a.call("POST", "sign-in")
    b.until_shows(row)
    a.until_sent()
    assert a.device["status"]["phase"] in ("idle", "syncing")


@claims
def old_way(lab):
    """The old way waits for the server, and offline it loses the user's input."""
    a, b = pair(lab)
    assert a.call("PUT", "old-way", {"on": True})["oldWay"]
    row = a.add("Through the server")["id"]
    assert a.held(row), "shown before the server had it"
    a.edit(row, content="Edited through the server")
    assert a.held(row)["content"] == "Edited through the server"
    b.until_shows(row, content="Edited through the server")
    a.network("offline")
    refused(504, "oldWayFailed", a.add, "Lost")
    refused(504, "oldWayFailed", a.edit, row, content="Lost")
    refused(504, "oldWayFailed", a.delete, row)
    assert a.outbox == [] and a.shown(row)["content"] == "Edited through the server"
    a.network("online")
    a.delete(row)
    assert a.held(row) is None and a.shown(row) is None
    a.call("PUT", "old-way", {"on": False})
    a.network("offline")
    a.add("Not lost")
    a.network("online")
    a.until_sent()
    assert sorted(todo["content"] for todo in b.server) == ["Not lost", "The first of all"], "the old way wrote later"


if __name__ == "__main__":
    claims.run(Lab(sys.argv[1].rstrip("/")))
