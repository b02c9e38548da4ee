# This source file is part of the Optimist open source project, under the MIT licence.
"""The phones' home screens in a real browser, against a running lab: home.py http://127.0.0.1:8080"""

import re

from playwright.sync_api import expect

from planner import Claims, Phone, fresh, keeps_to_itself, open_lab, run, take_pictures

claims = Claims()
PARTS = ["Today", "My day", "News", "Notices", "Shortcuts"]


class Home:
    """The home screen of one phone, as a person sees it."""

    def __init__(self, phone, name):
        self.phone = phone
        self.name = name
        self.count = phone.region.locator(".home-screen .state").get_by_role("status")

    def part(self, title):
        return self.phone.region.get_by_role("region", name=title, exact=True)

    def drawn(self, title):
        return self.part(title).locator(".drawn")

    def open(self):
        self.phone.region.get_by_role("tab", name="Home").click()
        expect(self.part("News")).to_be_visible()

    def draws_all(self, count):
        for title in PARTS:
            expect(self.drawn(title)).to_have_text(f"×{count}")


def open_homes(page, address, old_way=""):
    page.goto("about:blank")  # Leaves the screens while they are emptied.
    for name in "AB":
        page.request.post(f"{address}/lab/devices/{name}/restart")
        page.request.post(f"{address}/lab/devices/{name}/sign-in")
        page.request.put(f"{address}/lab/devices/{name}/old-way", data={"on": name in old_way})
    homes = [Home(phone, name) for phone, name in zip(open_lab(page, address), "AB")]
    for home in homes:
        page.request.put(f"{address}/lab/devices/{home.name}/clock", data={"time": "20:00:00"})
        home.open()
    return homes


@claims
def one_answer_one_redraw(page, address):
    """H1: one answer of the server is drawn once, however many sections it fills; the old way draws three times."""
    new, old = open_homes(page, address, old_way="B")
    expect(new.count).to_have_text("drawn once for 1 answer")
    new.draws_all(1)
    expect(old.count).to_have_text("drawn 3 times for 1 answer")
    old.draws_all(3)


@claims.full
def a_part_changes_alone(page, address):
    """H2, H4: a new notice redraws only the notices, a to-do only the day's plan, and an equal answer nothing."""
    new, _ = open_homes(page, address)
    new.draws_all(1)
    with page.expect_response("**/lab/server/home"):
        page.get_by_role("button", name="New notice").click()
    new.phone.region.locator(".home-screen").get_by_role("button", name="Refresh").click()
    expect(new.drawn("Notices")).to_have_text("×2")
    expect(new.part("Notices")).to_contain_text("Notice number")
    new.phone.region.locator(".home-screen").get_by_role("button", name="Refresh").click()
    expect(new.count).to_have_text("drawn 2 times for 3 answers")
    left = new.part("My day").inner_text()
    page.request.post(f"{address}/lab/devices/A/todos", data={"content": fresh("Draws one part")})
    expect(new.part("My day")).not_to_have_text(left)
    expect(new.drawn("My day")).to_have_text("×2")
    for title in ("Today", "News", "Shortcuts"):
        expect(new.drawn(title)).to_have_text("×1")


@claims.full
def the_chapel_opens_by_the_clock(page, address):
    """H3: the chapel appears and disappears on the minute by its own clock, and no other section is drawn."""
    new, old = open_homes(page, address, old_way="B")
    expect(new.part("Chapel")).to_have_count(0)
    for home in (new, old):
        home.phone.press("Almost 10:00")
    expect(new.part("Chapel")).to_be_visible()
    expect(new.phone.region.locator(".wall")).to_have_text(re.compile("^10:0"))
    new.draws_all(1)
    expect(old.phone.region.locator(".wall")).to_have_text(re.compile("^10:0"))
    expect(old.part("Chapel")).to_have_count(0)
    new.phone.press("Almost 13:00")
    expect(new.part("Chapel")).to_have_count(0)
    expect(new.phone.region.locator(".wall")).to_have_text(re.compile("^13:0"))
    new.draws_all(1)


@claims.full
def without_a_network(page, address):
    """H1: sections that the phone fills itself appear without the server; the others follow with the network."""
    page.request.put(f"{address}/lab/devices/A/network", data={"profile": "offline"})
    page.goto("about:blank")
    page.request.post(f"{address}/lab/devices/A/restart")
    page.request.put(f"{address}/lab/devices/A/old-way", data={"on": False})
    page.goto(address)
    phone = Phone(page, "A")
    expect(phone.new).to_be_visible()
    phone.region.get_by_role("tab", name="Home").click()
    expect(phone.region.locator(".home-screen .note")).to_contain_text("The server does")
    home = Home(phone, "A")
    expect(home.part("My day")).to_contain_text("to do")
    phone.network("Online")
    expect(home.part("News")).to_contain_text("library")
    expect(phone.region.locator(".home-screen .note")).to_be_hidden()


@claims.full
def works_by_keyboard(page, address):
    """Arrow keys choose a screen, and the clock can be set by keyboard."""
    new, _ = open_homes(page, address)
    tab = new.phone.region.get_by_role("tab", name="Home")
    tab.focus()
    page.keyboard.press("ArrowRight")
    expect(new.phone.region.get_by_role("tab", name="Poses")).to_be_focused()
    page.keyboard.press("ArrowLeft")
    expect(tab).to_have_attribute("aria-selected", "true")
    for _ in range(3):
        page.keyboard.press("Shift+Tab")
    expect(new.phone.region.get_by_role("button", name="Almost 10:00")).to_be_focused()
    page.keyboard.press("Enter")
    expect(new.part("Chapel")).to_be_visible()


@claims.full
def looks_right(page, address):
    """The screen fits a width of 420 points; pictures are taken in light, dark and narrow."""
    new, old = open_homes(page, address, old_way="B")
    new.phone.press("Almost 10:00")
    expect(new.part("Chapel")).to_be_visible()
    take_pictures(page, "home")


claims(keeps_to_itself)


if __name__ == "__main__":
    run(claims)
