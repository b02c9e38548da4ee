# This source file is part of the Optimist open source project, under the MIT licence.
"""The planner in a real browser, against a running lab: planner.py http://127.0.0.1:8080

Waits for conditions, never for time. Saves pictures in artifacts/ at the root of the project.
"""

import os
import shutil
import sys
import uuid
from pathlib import Path
from urllib.parse import urlsplit

from playwright.sync_api import expect, sync_playwright

sys.path.insert(0, str(Path(__file__).parents[1]))
from claims import Claims  # noqa: E402

PICTURES = Path(__file__).parents[3] / "artifacts"
claims = Claims()


class Phone:
    """One phone on the page, as a person or a screen reader finds it."""

    def __init__(self, page, name):
        self.page = page
        self.region = page.get_by_role("region", name=f"Phone {name}", exact=True)
        self.new = self.region.get_by_label("New to-do")
        self.status = self.region.locator(".planner .status")
        self.off = self.region.get_by_text(f"Phone {name} is off.")
        self.rejections = self.region.get_by_role("region", name="Rejections")

    def write(self, text):
        self.new.fill(text)
        self.new.press("Enter")

    def todo(self, text):
        """The rows with this text, found by their checkbox because the text is in a field."""
        checkbox = self.page.get_by_role("checkbox", name=f"Done: {text}", exact=True)
        return self.region.get_by_role("listitem").filter(has=checkbox)

    def has(self, text, state):
        row = self.todo(text)
        expect(row).to_have_count(1)
        expect(row.locator(".badge")).to_have_text(state)

    def network(self, name):
        # The radio buttons are under their labels, as the segments of one control.
        self.region.locator(".segments label").filter(has_text=name).click()
        expect(self.region.locator(".signal")).to_have_text(name)

    def press(self, name):
        self.region.get_by_role("button", name=name, exact=True).click()


def take_pictures(page, name):
    """Pictures in light, in dark, and 420 points wide. The page must fit that width, and 320."""

    def picture(kind):
        page.screenshot(path=PICTURES / f"{name}-{kind}.png", full_page=True, animations="disabled")

    PICTURES.mkdir(exist_ok=True)
    picture("light")
    page.emulate_media(color_scheme="dark")
    picture("dark")
    page.emulate_media(color_scheme="light")
    page.set_viewport_size({"width": 420, "height": 900})
    assert page.evaluate("document.documentElement.scrollWidth") <= 420
    picture("narrow")
    page.set_viewport_size({"width": 320, "height": 900})
    assert page.evaluate("document.documentElement.scrollWidth") <= 320
    page.set_viewport_size({"width": 1440, "height": 1100})


def fresh(text):
    """A text that no earlier run has written."""
    return f"{text} {uuid.uuid4().hex[:6]}"


def open_lab(page, address):
    page.unroute_all()  # Left over from the previous claim.
    for name in "AB":
        page.request.post(f"{address}/lab/devices/{name}/restart")
        page.request.put(f"{address}/lab/devices/{name}/network", data={"profile": "online"})
    page.goto(address)
    phones = Phone(page, "A"), Phone(page, "B")
    for phone in phones:
        expect(phone.new).to_be_visible()
    return phones


def open_emptied(page, address, old_way="", network="online", held=0):
    """The lab's phones, signed in and empty. The server holds the next `held` pictures."""
    page.request.put(f"{address}/lab/server/pictures", data={"next": 0})
    page.goto("about:blank")  # Leaves the screens while they are emptied.
    for name in "AB":
        page.request.post(f"{address}/lab/devices/{name}/restart")
        page.request.post(f"{address}/lab/devices/{name}/sign-in")
        page.request.delete(f"{address}/lab/devices/{name}/loading")
        page.request.put(f"{address}/lab/devices/{name}/old-way", data={"on": name in old_way})
    phones = open_lab(page, address)
    for name in "AB":
        page.request.put(f"{address}/lab/devices/{name}/network", data={"profile": network})
    page.request.put(f"{address}/lab/server/pictures", data={"next": held})
    return phones


def version(name, people, crashes):
    """A version in the format of the lab's health page."""
    return {
        "version": name, "people": people, "crashes": crashes, "kills": 0, "abruptEndsWithUnsentRows": 0,
        "crashFreePeople": {"share": 1, "atLeast": 0.2, "atMost": 1},
    }


@claims
def frames_come_first(page, address):
    """Both phones appear immediately with what each waits for, and nothing is counted too early."""
    page.unroute_all()
    held, is_holding = [], True
    steps = [{"name": "A", "step": "signIn"}, {"name": "B", "step": "turn"}]
    versions = [version("9.1", 1, 0), version("9.2", 1, 1), version("9.3", 2, 0)]
    page.route("**/lab/devices", lambda route: held.append(route) if is_holding else route.continue_())
    page.route("**/lab/opening", lambda route: route.fulfill(json={"phones": steps}))
    page.route("**/health.json", lambda route: route.fulfill(json={"versions": versions}))
    page.goto(address)
    a, b = Phone(page, "A"), Phone(page, "B")
    expect(a.region.get_by_role("status")).to_have_text("Signing in.")
    expect(b.region.get_by_role("status")).to_have_text("Waiting for its turn to open.")
    counted = page.get_by_role("region", name="Health by version", exact=True).get_by_role("listitem")
    expect(counted).to_have_count(2)
    expect(counted.nth(0)).to_contain_text("of 1 person had no crash")
    expect(counted.nth(1)).to_contain_text("of 2 people had no crash")
    take_pictures(page, "start")
    is_holding = False
    for route in held:
        route.continue_()
    for phone in (a, b):
        expect(phone.new).to_be_visible()
    expect(page.locator(".is-waiting")).to_have_count(0)


@claims
def survives_a_crash(page, address):
    """W1 a to-do written offline is shown immediately, survives a crash, and reaches the other phone exactly once."""
    a, b = open_lab(page, address)
    text = fresh("Written in a tunnel")
    a.network("Offline")
    a.write(text)
    a.has(text, "pending")
    expect(a.status).to_contain_text("offline")
    a.press("Crash")
    expect(a.off).to_be_visible()
    a.press("Restart phone A")
    expect(a.off).to_be_hidden()
    a.has(text, "pending")
    expect(b.todo(text)).to_have_count(0)
    a.network("Online")
    a.has(text, "synced")
    b.has(text, "synced")
    held = page.get_by_role("region", name="Server", exact=True).get_by_role("listitem").filter(has_text=text)
    expect(held).to_have_count(1)
    expect(a.status).to_contain_text("up to date")


@claims.full
def works_by_keyboard(page, address):
    """Writing, ticking, cutting the network, crashing and restarting work by keyboard alone."""
    a, b = open_lab(page, address)
    text = fresh("No mouse needed")
    tab_to(page, "New to-do on phone A")
    page.keyboard.type(text)
    page.keyboard.press("Enter")
    b.has(text, "synced")
    tab_to(page, f"Done: {text}", "Shift+Tab")
    page.keyboard.press("Space")
    expect(b.todo(text).get_by_role("checkbox")).to_be_checked()
    tab_to(page, "Online")
    page.keyboard.press("ArrowLeft")
    expect(a.region.locator(".signal")).to_have_text("Offline")
    tab_to(page, "Crash")
    page.keyboard.press("Enter")
    expect(a.off).to_be_visible()
    page.keyboard.press("Enter")
    expect(a.off).to_be_hidden()
    tab_to(page, "Offline", "Shift+Tab")
    page.keyboard.press("ArrowRight")
    expect(a.region.locator(".signal")).to_have_text("Online")
    a.has(text, "synced")


@claims.full
def restarts_after_the_crash(page, address):
    """A phone that is restarted during its crash is running in the end."""
    a, _ = open_lab(page, address)
    crashes, restarts = [], []
    page.route("**/crash", lambda route: crashes.append(route))
    page.route("**/restart", lambda route: (restarts.append(route), route.continue_()))
    with page.expect_request("**/crash"):
        a.press("Crash")
    expect(a.off).to_be_visible()
    a.press("Restart phone A")
    page.evaluate("() => new Promise(requestAnimationFrame)")
    assert crashes and not restarts, "the restart has overtaken the crash"
    crashes[0].continue_()
    expect(a.off).to_be_hidden()
    text = fresh("On again")
    a.write(text)
    a.has(text, "synced")


def tab_to(page, name, key="Tab"):
    """Presses Tab until the element with this name has the focus, which must be visible."""
    for _ in range(300):
        page.keyboard.press(key)
        if page.evaluate(FOCUSED_NAME) == name:
            assert page.evaluate("document.activeElement.matches(':focus-visible')"), f"no visible focus on {name}"
            return
    raise AssertionError(f"{name} cannot be reached with {key}")


FOCUSED_NAME = """() => {
    const focused = document.activeElement;
    return focused.getAttribute('aria-label') ?? focused.labels?.[0]?.textContent ?? focused.textContent;
}"""


@claims.full
def keeps_what_is_typed(page, address):
    """Focus and half-typed text survive rows from the other phone, and Enter saves the text in place."""
    a, b = open_lab(page, address)
    text, other = fresh("Half"), fresh("Arrives meanwhile")
    a.write(text)
    a.has(text, "synced")
    field = a.todo(text).get_by_role("textbox")
    field.press("End")
    field.press_sequentially(" typed")
    page.evaluate(
        """([path, content]) => fetch(path, {
            method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify({ content }) })""",
        ["/lab/devices/B/todos", other],
    )
    a.has(other, "synced")
    expect(field).to_be_focused()
    expect(field).to_have_value(f"{text} typed")
    field.press("Enter")
    b.has(f"{text} typed", "synced")


@claims.full
def text_is_text(page, address):
    """Text from users is never markup."""
    a, b = open_lab(page, address)
    text = fresh("<img src=x onerror=document.title='broken'><b>bold</b>")
    a.write(text)
    b.has(text, "synced")
    for name in "Server", "Timeline":
        expect(page.get_by_role("region", name=name, exact=True)).to_contain_text(text)
    assert page.locator("main img, main b").count() == 0
    assert page.title() == "Optimist lab"


@claims.full
def looks_right(page, address):
    """The page fits a width of 420 points; pictures are taken in light, dark and narrow."""
    a, _ = open_lab(page, address)
    a.network("Offline")
    a.write(fresh("Waits for the network"))
    expect(a.status).to_contain_text("pending")
    take_pictures(page, "lab")
    a.network("Online")
    expect(a.status).to_contain_text("up to date")


@claims
def keeps_to_itself(page, address, *excused):
    """The page requested nothing from another origin and logged no error."""
    foreign = [url for url in page.requested if urlsplit(url).netloc != urlsplit(address).netloc]
    assert not foreign, f"asked elsewhere: {foreign}"
    # The browser logs an error when a crashing phone refuses a request.
    excused = "409 (Conflict)", *excused
    complaints = [complaint for complaint in page.complaints if not any(words in complaint for words in excused)]
    assert not complaints, f"the console says: {complaints}"


def watched(browser):
    """A page that records its requests and its errors."""
    page = browser.new_page(viewport={"width": 1440, "height": 1100})
    # This also applies to requests that a claim makes directly.
    page.context.set_default_timeout(300_000)
    expect.set_options(timeout=300_000)
    page.requested, page.complaints = [], []
    page.on("request", lambda request: page.requested.append(request.url))
    page.on("console", lambda message: message.type == "error" and page.complaints.append(
        f"{message.text} {message.location.get('url', '')}"))
    page.on("pageerror", lambda error: page.complaints.append(str(error)))
    return page


def chromium():
    """Debian's Chromium, another installed one, or Playwright's own."""
    names = ("chromium", "chromium-browser", "google-chrome")
    return os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, names)), None)


def run(claims):
    """Runs claims about the page of the lab whose address is the program's argument."""
    with sync_playwright() as playwright:
        sandbox = ["--no-sandbox"] if hasattr(os, "geteuid") and os.geteuid() == 0 else []
        browser = playwright.chromium.launch(executable_path=chromium(), args=sandbox)
        claims.run(watched(browser), sys.argv[1].rstrip("/"))


if __name__ == "__main__":
    run(claims)
