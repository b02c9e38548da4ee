# This source file is part of the Optimist open source project, under the MIT licence.
"""The receiver in Python of Documentation/Webhooks.md as a process, with faults.

    webhook_receiver.py PORT FOLDER

It adds a line `ACCOUNT SEQ ROWS` for each transaction to FOLDER/notes. FOLDER/fault has the words that it obeys:
`slow`, `500`, `410`, `401`, `redirect`, `bytes=COUNT`, which lengthens its answers with spaces, or `refuse=ACCOUNT`,
which answers 500 to the transactions of one account.
"""

import contextlib
import json
import sys
import threading
import time
from http.server import ThreadingHTTPServer
from pathlib import Path

from guides import blocks

FOLDER = Path(sys.argv[2])
# Each request obeys the faults that it found when it began.
local = threading.local()

guide = {"__name__": "guide"}
exec(compile(blocks("Webhooks.md", "python")[0], "Webhooks.md", "exec"), guide)


class Receiver(guide["Receiver"]):
    def do_POST(self):
        local.faults = (FOLDER / "fault").read_text().split()
        if self.path == "/elsewhere":
            (FOLDER / "redirected").touch()
        super().do_POST()

    def answer(self, status, content=None):
        if "slow" in local.faults and status == 200:
            time.sleep(3)
        if "redirect" in local.faults and status == 200:
            self.send_response(307)
            self.send_header("location", "/elsewhere")
            self.send_header("content-length", "0")
            return self.end_headers()
        for fault in ("500", "410", "401"):
            if fault in local.faults and status == 200:
                status = int(fault)
        for fault in local.faults:
            if fault.startswith("bytes=") and status == 200:
                return self.lengthened(json.dumps(content or {}).encode().ljust(int(fault.removeprefix("bytes="))))
        super().answer(status, content)

    def lengthened(self, body):
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        # The server may close the connection before it has everything.
        with contextlib.suppress(ConnectionError):
            self.wfile.write(body)


def take(transaction):
    if f"refuse={transaction['account']}" in local.faults:
        raise ValueError("refused")
    if {"500", "410", "redirect"} & set(local.faults):
        return
    with (FOLDER / "notes").open("a") as notes:
        notes.write(f"{transaction['account']} {transaction['seq']} {len(transaction['rows'])}\n")


def decide(group):
    if "late" in local.faults:
        time.sleep(10)
    amended = [{"type": row["type"], "id": row["id"], "values": {"content": "amended"}}
               for row in group["rows"] if row["after"] and row["after"].get("content") == "amend"]
    return {"amend": amended} if amended else guide_decide(group)


guide_decide, guide["take"], guide["decide"] = guide["decide"], take, decide
server = ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Receiver)
print(f"receives at {server.server_address[1]}", flush=True)
server.serve_forever()
