# This source file is part of the Optimist open source project, under the MIT licence.
"""What the phones send: no more than the rows as they are, and once, whatever is lost on the way."""

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
    """A to-do written and deleted offline is never sent, also when sending was tried in between."""
    a, b = pair(lab)
    before = a.sequence()
    a.network("offline")
    for number in range(10):
        row = a.add(f"Not to be known {number}")["id"]
        if number % 2:  # The attempt that the write has caused meets the cut network.
            eventually("noticed that it is offline", lambda: a.device["status"]["phase"] == "offline")
        a.delete(row)
    a.until_sent()  # Once the last attempt has failed, nothing is left that could be.
    a.network("online")
    assert a.sequence() == before + 1, "something was sent"
    assert not [row for row in a.server + b.todos if row["content"].startswith("Not to")]


@claims
def lost_replies(lab):
    """A write whose reply is lost is repeated, and neither the row nor its transaction is there twice."""
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
    """Waits until the server has what was written, then lets its replies through."""
    eventually("the server has it", condition)
    if "dropNextResponses" not in lose:
        assert phone.outbox, "the reply was not lost"
        phone.network("online")
    phone.until_sent()


def cut_on_the_way_back(phone, condition):
    """Cuts the network when the server has acted and its answer is still on the way."""
    eventually("the server has it", condition)
    phone.network("offline")
    assert phone.outbox, "the answer was faster"
    eventually("noticed", lambda: phone.device["status"]["phase"] == "offline")


@claims
def stays_deleted(lab):
    """A to-do whose acknowledgement was cut off, deleted offline, is deleted everywhere and does not come back."""
    a, b = pair(lab)
    a.network("online", latencyMs=600)
    row = a.add("Not to come back")["id"]
    cut_on_the_way_back(a, lambda: a.held(row))
    a.delete(row)
    settled(a, b)
    assert not a.held(row) and not a.shown(row) and not b.shown(row), "it came back"


@claims
def stays_edited(lab):
    """An edit whose acknowledgement was cut off, taken back offline, is taken back everywhere."""
    a, b = pair(lab)
    row = a.add("First thought")["id"]
    b.until_shows(row)
    a.until_sent()
    a.network("online", latencyMs=600)
    a.edit(row, content="Second thought")
    cut_on_the_way_back(a, lambda: a.held(row)["content"] == "Second thought")
    a.edit(row, content="First thought")
    settled(a, b)
    texts = [a.shown(row)["content"], b.shown(row)["content"], a.held(row)["content"]]
    assert texts == ["First thought"] * 3, f"the last edit is lost: {texts}"


def settled(a, b):
    """Brings the phone online, and waits until both have everything that either has written."""
    a.network("online")
    a.until_sent()
    for writer, reader in ((a, b), (b, a)):
        reader.until_shows(writer.add(f"from {writer.name}")["id"])


if __name__ == "__main__":
    claims.run(Lab(sys.argv[1].rstrip("/")))
