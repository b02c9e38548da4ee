# This source file is part of the Optimist open source project, under the MIT licence.
"""The operator's pages in a real browser. Starts a server with $OPTIMIST."""

import json
import os
import pathlib
import sys
import tempfile
import urllib.error
import urllib.request
import uuid

from playwright.sync_api import expect, sync_playwright

from planner import Claims, chromium, keeps_to_itself, watched

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "EndToEnd"))
from program import PATIENCE, Program  # noqa: E402

claims = Claims()
PASSWORD = "correct horse battery"
MARKUP = "Tickets <img src=x onerror=alert(1)>"


class Site:
    def __init__(self, folder):
        self.program = Program("serve", "--port", "0", "--admin-port", "0", "--data", folder)
        self.users = self.program.find(r"serves (http://[^ ]+)")
        self.admin = self.program.find(r"pages are at (http://[^ ]+)/admin")

    def post(self, path, body, token=None):
        headers = {"Content-Type": "application/json"} | ({"Authorization": f"Bearer {token}"} if token else {})
        request = urllib.request.Request(self.users + path, json.dumps(body).encode(), headers, method="POST")
        try:
            with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
                return answer.status, json.loads(answer.read())
        except urllib.error.HTTPError as error:
            return error.code, json.loads(error.read())

    def sign_up(self, name):
        status, grant = self.post(
            "/auth/sign-up",
            {"email": f"{name}@example.org", "password": PASSWORD, "device": {"id": "e2e", "name": f"Phone of {name}"}})
        assert status == 201, grant
        return grant

    def write(self, grant, rows):
        call = ["todo/set", {"accountId": grant["account_id"], "create": rows}, "0"]
        status, answer = self.post(
            "/jmap", {"using": ["urn:ietf:params:jmap:core", "urn:x-optimist:rowsync"], "methodCalls": [call]},
            grant["access_token"])
        assert status == 200, answer


@claims
def finds(page, site):
    """By keyboard, an account is found by its address prefix, and its rows show devices and times."""
    page.goto(f"{site.admin}/admin")
    expect(page.get_by_text("can be written")).to_be_visible()
    page.get_by_role("link", name="Accounts").press("Enter")
    page.get_by_label("Address begins with").fill("AN")
    page.keyboard.press("Enter")
    expect(page.get_by_role("row")).to_have_count(2)
    page.get_by_role("link", name="anna@example.org").press("Enter")
    expect(page.get_by_role("heading", name="anna@example.org")).to_be_visible()
    page.get_by_role("link", name="todo").press("Enter")
    expect(page.get_by_text(MARKUP)).to_be_visible()
    assert page.locator("main img").count() == 0, "what a user wrote became markup"
    page.reload()
    expect(page.get_by_text(MARKUP)).to_be_visible()


@claims
def tells_refusals(page, site):
    """A refusal is shown with its code and links to its account."""
    page.goto(f"{site.admin}/admin#/refusals")
    row = page.get_by_role("row").filter(has_text="invalidProperties")
    expect(row).to_have_count(1)
    row.get_by_role("link").click()
    expect(page.get_by_role("heading", name="anna@example.org")).to_be_visible()


@claims
def ends_session(page, site):
    """The operator confirms the end of a session, and the device is refused from then on."""
    grant = site.sign_up("ben")
    page.goto(f"{site.admin}/admin#/accounts/{grant['account_id']}")
    button = page.get_by_role("button", name="End the session of Phone of ben")
    page.once("dialog", lambda dialog: dialog.dismiss())
    button.click()
    status, _ = site.post("/jmap", {"using": [], "methodCalls": []}, grant["access_token"])
    assert status == 200, "the session ended although the operator answered no"
    page.once("dialog", lambda dialog: dialog.accept())
    button.click()
    expect(page.get_by_text("No device is signed in.")).to_be_visible()
    status, answer = site.post("/jmap", {"using": [], "methodCalls": []}, grant["access_token"])
    assert status == 401 and answer["reason"] == "revoked", answer


@claims
def fits(page, site):
    """Each page fits a width of 390 points, in light and in dark."""
    page.set_viewport_size({"width": 390, "height": 900})
    account = site.anna["account_id"]
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        for path in ("", "#/accounts", f"#/accounts/{account}", f"#/accounts/{account}/rows?type=todo", "#/refusals"):
            page.goto("about:blank")  # Otherwise the previous page stays until the next one has loaded.
            page.goto(f"{site.admin}/admin{path}")
            expect(page.locator("main .panel").first).to_be_visible()
            width = page.evaluate("document.documentElement.scrollWidth")
            assert width <= 390, f"{path}: {width}"


@claims
def is_quiet(page, site):
    """The pages requested nothing from another origin and logged no error."""
    keeps_to_itself(page, site.admin)


@claims
def says_faults(page, site):
    """An unknown account shows a message instead of an empty page."""
    page.goto(f"{site.admin}/admin#/accounts/nobody")
    expect(page.get_by_role("alert")).to_have_text("The account does not exist.")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        site = Site(pathlib.Path(folder) / "server")
        sandbox = ["--no-sandbox"] if os.geteuid() == 0 else []
        browser = playwright.chromium.launch(executable_path=chromium(), args=sandbox)
        try:
            site.anna = site.sign_up("anna")
            site.sign_up("berta")
            site.write(site.anna, {str(uuid.uuid4()): {"content": MARKUP}, str(uuid.uuid4()): {"nonsense": 1}})
            claims.run(watched(browser), site)
        finally:
            browser.close()
            site.program.kill()
