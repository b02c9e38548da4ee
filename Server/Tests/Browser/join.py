# This source file is part of the Optimist open source project, under the MIT licence.
"""The page of an invitation link in a real browser. Starts a server with $OPTIMIST, and reads what the browser sends."""

import contextlib
import os
import socketserver
import sys
import tempfile
import threading
from pathlib import Path
from socket import SHUT_WR, create_connection
from urllib.parse import urlsplit

from playwright.sync_api import expect, sync_playwright

from planner import Claims, chromium, keeps_to_itself, take_pictures, watched

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "EndToEnd"))
from program import PATIENCE, Program  # noqa: E402

claims = Claims()
STORE = "https://apps.example.org/app?id=1&from=link"
SECRET = "Nw4x" * 16


class Site:
    """A server, and a relay in front of it that keeps all bytes of the browser."""

    def __init__(self, folder):
        self.program = Program(
            "serve", "--port", "0", "--data", folder, "--app-id", "A1B2C3D4E5.org.example.app", "--app-store", STORE)
        server = urlsplit(self.program.find(r"serves (http://[^ ]+)"))
        self.sent = sent = bytearray()

        def pass_on(source, target, kept):
            with contextlib.suppress(OSError):
                while data := source.recv(65_536):
                    kept += data
                    target.sendall(data)
                target.shutdown(SHUT_WR)

        class Relay(socketserver.BaseRequestHandler):
            def handle(self):
                with create_connection((server.hostname, server.port), PATIENCE) as upstream:
                    back = threading.Thread(target=pass_on, args=(upstream, self.request, bytearray()), daemon=True)
                    back.start()
                    pass_on(self.request, upstream, sent)
                    back.join()

        self.relay = socketserver.ThreadingTCPServer(("127.0.0.1", 0), Relay)
        self.relay.daemon_threads = True
        threading.Thread(target=self.relay.serve_forever, daemon=True).start()
        self.address = f"http://127.0.0.1:{self.relay.server_address[1]}"
        self.link = f"{self.address}/join#{SECRET}"

    def end(self):
        self.relay.shutdown()
        self.program.kill()


@claims
def shows_the_link(page, site):
    """P9 the page shows the whole link, copies it, and leads to the app store."""
    page.context.grant_permissions(["clipboard-read", "clipboard-write"], origin=site.address)
    page.goto(site.link)
    expect(page.get_by_role("heading", name="You are invited to a shared space")).to_be_visible()
    expect(page.get_by_label("Link", exact=True)).to_have_value(site.link)
    page.get_by_role("button", name="Copy").press("Enter")
    expect(page.get_by_role("status")).to_have_text("Copied.")
    assert page.evaluate("navigator.clipboard.readText()") == site.link
    expect(page.get_by_role("link", name="Get the app")).to_have_attribute("href", STORE)
    take_pictures(page, "join")


@claims
def another_link(page, site):
    """The page shows the link that was opened last, and reports a link without its secret as incomplete."""
    page.goto(f"{site.address}/join#another")
    expect(page.get_by_label("Link", exact=True)).to_have_value(f"{site.address}/join#another")
    page.goto("about:blank")
    page.goto(f"{site.address}/join")
    expect(page.get_by_text("This link is not complete.")).to_be_visible()
    expect(page.get_by_role("button")).to_have_count(0)


@claims
def no_script(page, site):
    """Without JavaScript the page explains how to copy the link."""
    plain = page.context.browser.new_page(java_script_enabled=False)
    plain.goto(site.link)
    # Searches for text skip the content of noscript.
    expect(plain.locator("noscript p")).to_be_visible()
    expect(plain.locator("noscript p")).to_contain_text("copy the link from the address bar")
    expect(plain.get_by_role("button")).to_have_count(0)
    expect(plain.get_by_role("link", name="Get the app")).to_be_visible()
    plain.close()


@claims
def keeps_the_secret(page, site):
    """P9 the browser requested only the page, sent no secret, and blocked nothing."""
    keeps_to_itself(page, site.address)
    assert {urlsplit(url).path for url in page.requested if urlsplit(url).netloc} == {"/join"}, page.requested
    assert site.sent.count(b"GET /join HTTP/1.1\r\n") >= 3, site.sent
    for secret in SECRET, "another":
        assert secret.encode() not in site.sent, site.sent


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        site = Site(Path(folder) / "server")
        sandbox = ["--no-sandbox"] if os.geteuid() == 0 else []
        browser = playwright.chromium.launch(executable_path=chromium(), args=sandbox)
        try:
            claims.run(watched(browser), site)
        finally:
            browser.close()
            site.end()
