# This source file is part of the Optimist open source project, under the MIT licence.
"""Many concurrent writes on one phone: each is answered, and the last ones arrive everywhere."""

import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
from claims import Claims  # noqa: E402
from lab import Lab, Refused, pair, shared  # noqa: E402
from program import eventually  # noqa: E402

claims = Claims()


def agree(a, b):
    """Waits until both phones and the server hold the same rows, and returns them."""
    a.until_sent()
    b.until_sent()
    ordered = lambda rows: sorted(map(shared, rows), key=lambda row: row["id"])  # noqa: E731
    eventually("all agree", lambda: ordered(a.todos) == ordered(b.todos) == ordered(a.server))
    return a.todos


@claims
def one_row(lab):
    """Many concurrent edits of one to-do on both phones are all answered, and all sides agree on one value."""
    a, b = pair(lab)
    row = a.add("Wanted by all")["id"]
    b.until_shows(row)
    with ThreadPoolExecutor(8) as crowd:
        edits = [crowd.submit((a, b)[n % 2].edit, row, content=f"Edit {n}") for n in range(160)]
        for edit in edits:
            edit.result()
    last = next(todo for todo in agree(a, b) if todo["id"] == row)
    assert last["content"].startswith("Edit "), last


@claims
def many_rows(lab):
    """Many to-dos written concurrently on both phones all arrive on both."""
    a, b = pair(lab)
    with ThreadPoolExecutor(8) as crowd:
        list(crowd.map(lambda n: (a, b)[n % 2].add(f"Row {n}"), range(160)))
    texts = [todo["content"] for todo in agree(a, b) if todo["content"].startswith("Row")]
    assert sorted(texts) == sorted(f"Row {n}" for n in range(160))


@claims
def crash_in_the_crowd(lab):
    """A crash during many writes answers or refuses each of them, and keeps those it answered."""
    a, b = pair(lab)
    acknowledged = []

    def write(number):
        try:
            acknowledged.append(a.add(f"Crowd {number}")["content"])
        except Refused as refusal:
            assert refusal.body["code"] == "deviceIsDown", refusal

    with ThreadPoolExecutor(8) as crowd:
        writes = [crowd.submit(write, number) for number in range(200)]
        for _ in range(5):
            so_far = len(acknowledged)
            eventually("some are written", lambda: len(acknowledged) > so_far + 5 or all(w.done() for w in writes))
            a.call("POST", "crash")
            a.call("POST", "restart")
        for one in writes:
            one.result()
    assert acknowledged, "no write was answered"
    texts = [todo["content"] for todo in agree(a, b)]
    assert len(texts) == len(set(texts)), "double"
    assert set(acknowledged) <= set(texts), set(acknowledged) - set(texts)


if __name__ == "__main__":
    claims.run(Lab(sys.argv[1].rstrip("/")))
