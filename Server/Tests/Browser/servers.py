# This source file is part of the Optimist open source project, under the MIT licence.
"""The servers of a lab with its own PostgreSQL, in a real browser: servers.py"""

import os
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import expect

sys.path.insert(0, str(Path(__file__).parents[1]))
sys.path.insert(0, str(Path(__file__).parents[1] / "EndToEnd"))
from claims import Claims, Skip  # noqa: E402
from clusters import programs  # noqa: E402
from lab import run_lab  # noqa: E402
from planner import Phone, keeps_to_itself, run, take_pictures  # noqa: E402

claims = Claims()


def open_page(page, address):
    page.goto(address)
    servers = page.get_by_role("region", name="Servers", exact=True)
    expect(servers.get_by_text("Server 3 ·")).to_be_visible()
    return servers, Phone(page, "A"), Phone(page, "B")


def press(servers, name):
    servers.get_by_role("button", name=name, exact=True).click()


def outcome(servers, *values):
    """The last failover's to-dos: acknowledged, lost, healed and missing."""
    cells = servers.get_by_role("row").nth(1).get_by_role("cell")
    for index, value in enumerate(values):
        expect(cells.nth(index)).to_have_text(str(value))


@claims
def kills_servers(page, address):
    """N1 a server is killed and restarted from the page, also by keyboard, and phones continue with the others."""
    servers, a, b = open_page(page, address)
    for number in 1, 2:
        press(servers, f"Kill server {number}")
        expect(servers.get_by_text("is dead · killed 1×")).to_have_count(number)
    a.write("Past two dead servers")
    b.has("Past two dead servers", "synced")
    start = servers.get_by_role("button", name="Start server 1")
    start.focus()
    page.keyboard.press("Enter")
    expect(servers.get_by_text("serves · killed 1×")).to_have_count(1)
    press(servers, "Start server 2")
    # The server does not serve yet, and the next click is queued.
    press(servers, "Kill server 3")
    expect(servers.get_by_role("button", name="Start server 3")).to_be_visible()
    expect(servers.get_by_text("is dead")).to_have_count(1)
    b.write("Past the third")
    a.has("Past the third", "synced")
    press(servers, "Start server 3")
    expect(servers.get_by_text("is dead")).to_have_count(0)


@claims
def fails_over(page, address):
    """N2 N6 phones heal what an asynchronous standby loses at its promotion; a synchronous one loses nothing."""
    servers, a, _ = open_page(page, address)
    servers.get_by_text("Cut off", exact=True).click()
    expect(servers.get_by_text("The standby receives nothing.")).to_be_visible()
    press(servers, "Write 10 to-dos on each phone")
    expect(servers.get_by_text("The phones have 22 acknowledged to-dos, and 0 are on their way.")).to_be_visible()
    press(servers, "Kill the primary, promote the standby")
    outcome(servers, 22, 20, 20, 0)
    a.has("Past the third", "synced")
    press(servers, "Make another standby")
    expect(servers.get_by_text("Database two is the primary, and one is its standby.")).to_be_visible()
    servers.get_by_text("Synchronous", exact=True).click()
    expect(servers.get_by_text("A commit waits until the standby has it.")).to_be_visible()
    press(servers, "Write 10 to-dos on each phone")
    expect(servers.get_by_text("The phones have 42 acknowledged to-dos, and 0 are on their way.")).to_be_visible()
    press(servers, "Kill the primary, promote the standby")
    outcome(servers, 42, 0, 0, 0)
    take_pictures(page, "servers")


def complains_of_nothing(page, address):
    """The page requested nothing from another origin and logged no error."""
    # The database may not answer during and shortly after a failover.
    keeps_to_itself(page, address, "503 (Service Unavailable)")


claims(complains_of_nothing)


def absent(page, address):
    """N1 N6 servers and a primary are killed from the page."""
    raise Skip("there is no PostgreSQL on this machine")


if __name__ == "__main__":
    if programs():
        with tempfile.TemporaryDirectory() as folder:
            os.chmod(folder, 0o711)  # If this is root, PostgreSQL runs as another user.
            program, lab = run_lab(Path(folder) / "lab", "--database", "own")
            sys.argv[1:] = [f"http://{lab.host}"]
            try:
                run(claims)
            finally:
                program.terminate()
    else:
        claims = Claims()
        claims(absent)
        claims.run(None, None)
