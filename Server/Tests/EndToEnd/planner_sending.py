# This source file is part of the Optimist open source project, under the MIT licence.
"""What the phones send: only the final rows, and once, whatever is lost in transit."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
from claims import Claims  # noqa: E402
from lab import Lab, pair  # noqa: E402
from program import eventually  # noqa: E402

claims = Claims()


@claims
def edits_fold(lab):
    """1,000 offline edits of one to-do are one transaction on the server, with the last text."""
    a, b = pair(lab)
    row = a.add("Edited")["id"]
    before = a.sequence()
    a.network("offline")
    for number in range(1000):
        a.edit(row, content=f"Edited {number}")
    assert [(entry["id"], entry["columns"]) for entry in a.outbox] == [(row, ["content"])], a.outbox
    a.network("online")
    a.until_sent()
    b.until_shows(row, content="Edited 999")
    assert (a.held(row)["seq"], a.sequence()) == (before + 1, before + 2), "more than one transaction"


@claims
def nothing_to_say(lab):
    """A to-do written and deleted offline is never sent, even if sending was tried in between."""
    a, b = pair(lab)
    before = a.sequence()
    a.network("offline")
    for number in range(10):
        row = a.add(f"Not to be known {number}")["id"]
        if number % 2:  # The attempt triggered by the write meets the cut network.
            eventually("noticed that it is offline", lambda: a.device["status"]["phase"] == "offline")
        a.delete(row)
    a.until_sent()  # After the last attempt has failed, nothing is left to send.
    a.network("online")
    assert a.sequence() == before + 1, "something was sent"
    assert not [row for row in a.server + b.todos if row["content"].startswith("Not to")]


@claims
def lost_replies(lab):
    """A write whose reply is lost is repeated, and neither the row nor its transaction is duplicated."""
    a, b = pair(lab)
    before = a.sequence()
    for lose in ({"dropNextResponses": 1}, {"truncateResponsesAfterBytes": 0}):
        a.call("PUT", "network", lose)
        row = a.add("Into the void")["id"]
        arrives(a, lambda: a.held(row), lose)
        a.call("PUT", "network", lose)
        a.edit(row, content="Edited into the void")
        arrives(a, lambda: a.held(row)["content"] == "Edited into the void", lose)
        b.until_shows(row, content="Edited into the void")
        a.call("PUT", "network", lose)
        a.delete(row)
        arrives(a, lambda: a.held(row) is None, lose)
        b.until_gone(row)
    assert a.sequence() == before + 7, "six writes, and not six transactions"


def arrives(phone, condition, lose):
    """Waits until the server has the write, then lets its replies through."""
    eventually("the server has it", condition)
    if "dropNextResponses" not in lose:
        assert phone.outbox, "the reply was not lost"
        phone.network("online")
    phone.until_sent()


def cut_on_the_way_back(phone, write):
    """Writes, and cuts the network when the server has acted and its answer is still in transit. Returns the row.

    `write` returns the row's id and the text that the server then has. If this machine is slower than the answer, the
    write is repeated on a slower network.
    """
    for latency in 600, 2_400, 9_600, 38_400:
        phone.network("online", latencyMs=latency)
        row, text = write()
        eventually("the server has it", lambda: (phone.held(row) or {}).get("content") == text)
        phone.network("offline")
        if phone.outbox:
            eventually("noticed", lambda: phone.device["status"]["phase"] == "offline")
            return row
        phone.network("online")
    raise AssertionError("the answer was always faster")


@claims
def stays_deleted(lab):
    """A to-do deleted offline after its acknowledgement was cut off is deleted everywhere and stays deleted."""
    a, b = pair(lab)
    row = cut_on_the_way_back(a, lambda: (a.add("Not to come back")["id"], "Not to come back"))
    a.delete(row)
    settled(a, b)
    assert not a.held(row) and not a.shown(row) and not b.shown(row), "it came back"


@claims
def stays_edited(lab):
    """An edit undone offline after its acknowledgement was cut off is undone everywhere."""
    a, b = pair(lab)
    row = a.add("First thought")["id"]
    b.until_shows(row)
    a.until_sent()
    thoughts = iter(["Second thought", "Third thought", "Fourth thought", "Fifth thought"])

    def edited():
        text = next(thoughts)
        a.edit(row, content=text)
        return row, text

    cut_on_the_way_back(a, edited)
    a.edit(row, content="First thought")
    settled(a, b)
    texts = [a.shown(row)["content"], b.shown(row)["content"], a.held(row)["content"]]
    assert texts == ["First thought"] * 3, f"the last edit is lost: {texts}"


def settled(a, b):
    """Brings the phone online, and waits until both have all that either has written."""
    a.network("online")
    a.until_sent()
    for writer, reader in ((a, b), (b, a)):
        reader.until_shows(writer.add(f"from {writer.name}")["id"])


if __name__ == "__main__":
    claims.run(Lab(sys.argv[1].rstrip("/")))
