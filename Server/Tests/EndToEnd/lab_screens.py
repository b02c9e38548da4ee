# This source file is part of the Optimist open source project, under the MIT licence.
"""The lab's screens without a browser: a person's own photos, and the figures of the five stories."""

import re
import struct
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
from claims import Claims  # noqa: E402
from lab import refused, run_lab  # noqa: E402
from program import eventually, run  # noqa: E402

claims = Claims()


def picture(file, width, height):
    """A GIF of this size with only its head: no test decodes it."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(b"GIF89a" + struct.pack("<HH", width, height) + b"\0\0\0;")


@claims
def own_photos(folder):
    """--photos shows a folder's pictures in their own sizes, tagged with their folders' names."""
    photos = folder / "photos"
    for number in range(10):
        picture(photos / f"{number}.gif", 300 + number, 200)
    picture(photos / "sea" / "boat.gif", 640, 480)
    (photos / "notes.txt").write_text("no picture")
    program, lab = run_lab(folder / "lab", "--photos", photos)
    with program:
        a = lab.phone("A")

        def sections():
            feed = a.call("GET", "feed")
            return feed if all(section["items"] for section in feed["sections"]) else None

        feed = eventually("both sections", sections)
        poses = [item["pose"] for section in feed["sections"] for item in section["items"]]
        assert [pose["width"] for pose in poses] == [*range(300, 310), 640], poses
        assert poses[-1]["tags"] == ["sea"] and feed["choices"]["tags"] == ["sea"], feed["choices"]
        a.call("POST", "feed/visible", {"ids": [pose["id"] for pose in poses]})
        eventually("all pictures", lambda: all(
            item["phase"] == "loaded" for section in a.call("GET", "feed")["sections"] for item in section["items"]))
        refused(400, "badLabRequest", lab.call, "POST", "server/poses")


@claims
def no_photos(folder):
    """An empty folder and a missing one are refused with a message."""
    (folder / "empty").mkdir()
    for photos in folder / "empty", folder / "nowhere":
        status, said, problem = run("lab", "--port", "0", "--data", folder / "unused", "--photos", photos)
        assert status == 1 and not said and "--photos" in problem and photos.name in problem, problem


@claims
def stories_in_figures(folder):
    """bench --stories prints and plots the figures: with Optimist nothing is duplicated or lost."""
    status, said, problem = run("bench", "--stories", "--on", "4g", "--svg", folder / "plot.svg")
    assert status == 0, problem
    rows = {row[0]: row[2:] for row in (re.split(r"\s*\|\s*", line)[1:-1] for line in said.splitlines()[2:])}
    for title, old, new in (
        ("2. Of 5 to-dos written offline, on the server afterwards", "0", "5"),
        ("3. Redraws for one answer of the first screen", "3", "1"),
    ):
        assert rows[title] == [old, new], rows
    assert rows["3. Refreshes when 20 requests meet an expired token"][1] == "1", rows
    assert rows["5. Requests for each picture and place name, swiping"][1] == "1", rows
    assert not any("never" in values for values in rows.values()), rows
    assert (folder / "plot.svg").read_text().count('class="new"') == len(rows) + 1


@claims
def stories_need_sense(folder):
    """bench reports what it can measure, and on which networks."""
    for arguments in ["bench"], ["bench", "--stories", "--on", "5g"], ["bench", "--stories", "--on", "offline"]:
        status, _, problem = run(*arguments)
        assert status == 64 and "Usage:" in problem, problem


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        claims.run(Path(folder))
