# This source file is part of the Optimist open source project, under the MIT licence.
"""Invalid requests to the control API: lab_requests.py http://127.0.0.1:8080"""

import sys
import uuid
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
from claims import Claims  # noqa: E402
from lab import Lab, refused  # noqa: E402

claims = Claims()


@claims
def bad_requests(lab):
    """Invalid requests are refused with a message, and the lab keeps running."""
    a = lab.phone("A")
    nobody = uuid.uuid4()
    refused(404, "notInLab", lab.call, "GET", "devices/Z/todos")
    refused(404, "notInLab", lab.call, "POST", "devices/Z/crash")
    refused(404, "notInLab", lab.call, "GET", "server/todos?account=nobody")
    refused(404, "notInLab", a.edit, nobody, done=True)
    refused(404, "notInLab", a.delete, nobody)
    refused(404, "http", a.call, "GET", "nothing")
    for body in (b"{", b"", b"[]", b"{}", b'{"content": 7}', b'{"content": ""}', b"\xff\xfe", b"[" * 100_000):
        refused(400, "badLabRequest", a.call, "POST", "todos", body)
    refused(413, "badLabRequest", a.call, "POST", "todos", b'{"content": "' + b"x" * 2_000_000 + b'"}')
    refused(400, "badLabRequest", a.delete, "no-uuid")
    refused(400, "badLabRequest", a.call, "PUT", "old-way", {"on": "yes"})
    assert "not JSON" not in refused(400, "badLabRequest", a.call, "PUT", "network", {"profile": "5g"})
    refused(400, "badLabRequest", a.call, "PUT", "network", {"dropNextResponses": "many"})
    refused(400, "badLabRequest", lab.call, "POST", "devices", {"name": "A"})
    refused(400, "badLabRequest", lab.call, "POST", "devices", {"name": "../etc"})
    refused(404, "unknownRejection", a.call, "POST", "rejections/999999/retry", {})
    refused(400, "badLabRequest", a.call, "POST", "rejections/999999/retry", {"edits": 1})
    for path, body in (
        ("shorts/visible", {"index": 60}), ("shorts/visible", {"index": -1}), ("shorts/visible", {"index": "one"}),
        ("shorts/visible", b""), ("feed/visible", {"ids": "all"}), ("feed/visible", b"["), ("feed/next", {"section": "no"}),
        ("feed/retry", {"id": 7}), ("feed/next", b"{"),
    ):
        refused(400, "badLabRequest", a.call, "POST", path, body)
    refused(400, "badLabRequest", a.call, "PUT", "feed/filter", {"people": "many"})
    refused(400, "badLabRequest", a.call, "GET", "feed?people=many")
    for time in "", "25:00:00", "9", "nine", 9:
        refused(400, "badLabRequest", a.call, "PUT", "clock", {"time": time})
    refused(400, "badLabRequest", a.call, "GET", "picture")
    assert a.call("GET", "picture?of=/etc/passwd") is None
    for pictures in {"next": -1}, {"next": 1e300}, {"id": 7}, {}:
        refused(400, "badLabRequest", lab.call, "PUT", "server/pictures", pictures)
    refused(400, "badLabRequest", lab.call, "POST", "server/home", {"section": "chapel"})
    a.call("POST", "feed/visible", {"ids": ["nobody", ""]})
    a.call("POST", "feed/retry", {"id": "nobody"})
    a.network("online", latencyMs=-5, lossPercent=1e300)
    a.network("online")
    assert a.add("The lab goes on")["content"] == "The lab goes on"


if __name__ == "__main__":
    claims.run(Lab(sys.argv[1].rstrip("/")))
