# This source file is part of the Optimist open source project, under the MIT licence.
"""The phones' short videos in a real browser, against a running lab: shorts.py http://127.0.0.1:8080"""

from playwright.sync_api import expect

from planner import Claims, keeps_to_itself, open_emptied, run, take_pictures

claims = Claims()


class Shorts:
    """The short videos of one phone, as a person sees them."""

    def __init__(self, phone, name):
        self.phone = phone
        self.name = name
        self.list = phone.region.get_by_label(f"Short videos on phone {name}")
        self.shown = self.list.locator("[aria-current]")
        self.ways = self.shown.locator(".ways .part")
        self.ahead = phone.region.get_by_role("list", name="Coming next").locator(".part")
        self.loading = phone.region.locator(".loading")

    def open(self):
        self.phone.region.get_by_role("tab", name="Shorts").click()
        expect(self.shown).to_be_visible()

    def next(self):
        index = int(self.shown.get_attribute("data-index"))
        self.phone.region.get_by_role("button", name="Next video").click()
        expect(self.shown).to_have_attribute("data-index", str(index + 1))

    def has_loaded(self):
        """Waits until the shown video and the next ones have loaded everything they need."""
        expect(self.shown.locator("img")).to_be_visible()
        expect(self.shown.locator(".place")).not_to_have_text("…")
        expect(self.ahead).to_have_count(6)
        for place in range(6):
            expect(self.ahead.nth(place)).to_contain_text("in memory")

    def stands_at(self, index):
        """The list shows this video, and has had a frame to report it."""
        self.list.evaluate("() => new Promise(requestAnimationFrame)")
        position = self.list.evaluate("list => Math.round(list.scrollTop / list.clientHeight)")
        assert position == index, position

    def facts(self):
        """The server's counts: things requested, and requests for them."""
        return self.phone.page.request.get(f"{self.phone.page.url}lab/devices/{self.name}/loading").json()


def open_shorts(page, address, **given):
    shorts = [Shorts(phone, name) for phone, name in zip(open_emptied(page, address, **given), "AB")]
    for one in shorts:
        one.open()
    return shorts


@claims
def joins_the_prefetch(page, address):
    """C2: a video that reaches the screen during its prefetch is requested once; the old way requests it twice."""
    new, old = open_shorts(page, address, old_way="B", held=20)
    for one in (new, old):
        expect(one.ahead.first).to_have_text("portrait: on its way")
        one.next()
    expect(new.ways.first).to_have_text("portrait: joined the prefetch")
    expect(old.ways.first).to_have_text("portrait: requested · 2 requests")
    page.request.put(f"{address}/lab/server/pictures", data={"next": 0})
    for one in (new, old):
        expect(one.shown.locator("img")).to_be_visible()
    facts = new.facts()
    assert facts["requests"] == facts["things"], facts
    facts = old.facts()
    assert facts["requests"] > facts["things"], facts
    expect(old.loading).to_have_class("panel loading is-double")


@claims.full
def is_here_at_once(page, address):
    """C1: a prefetched video appears immediately, without another request."""
    new, _ = open_shorts(page, address)
    new.has_loaded()
    new.next()
    expect(new.ways.first).to_have_text("portrait: was in memory")
    expect(new.ways.last).to_have_text("place: was in memory")
    expect(new.phone.region.locator(".source")).to_contain_text("GeoNames")
    new.has_loaded()
    facts = new.facts()
    assert facts["requests"] == facts["things"], facts


@claims.full
def gives_up_what_flew_past(page, address):
    """C3: prefetches of skipped videos are cancelled, and the video that is reached has all it needs."""
    new, _ = open_shorts(page, address, network="3g")
    for index in range(4, 40, 4):
        page.request.post(f"{address}/lab/devices/A/shorts/visible", data={"index": index})
    expect(new.shown).to_have_attribute("data-index", "36")
    new.stands_at(36)
    expect(new.shown.locator("img")).to_be_visible()
    expect(new.shown.locator(".place")).not_to_have_text("…")
    given_up = sum(loader["cancelled"] for loader in new.facts()["loaders"])
    assert given_up > 0, "nothing was given up"


@claims.full
def works_by_keyboard_and_offline(page, address):
    """Arrow keys move through the videos; offline, prefetched videos are shown and others report a failure."""
    new, _ = open_shorts(page, address)
    new.has_loaded()
    new.phone.network("Offline")
    new.list.focus()
    page.keyboard.press("ArrowDown")
    expect(new.ways.first).to_have_text("portrait: was in memory")
    for _ in range(6):
        page.keyboard.press("ArrowDown")
    expect(new.shown).to_have_attribute("data-index", "7")
    expect(new.shown.get_by_text("failed").first).to_be_visible()
    new.phone.network("Online")
    expect(new.shown.locator("img")).to_be_visible()


@claims.full
def tells_the_last_one(page, address):
    """The phone learns of one video at a time, and of none that the user has already left."""
    new, _ = open_shorts(page, address)
    told = []
    page.route("**/devices/A/shorts/visible", lambda route: told.append(route))
    new.list.focus()
    with page.expect_request("**/devices/A/shorts/visible"):
        page.keyboard.press("ArrowDown")
    for _ in range(6):
        page.keyboard.press("ArrowDown")
    new.stands_at(7)
    with page.expect_request("**/devices/A/shorts/visible"):
        told[0].continue_()
    expect(new.shown).to_have_attribute("data-index", "1")
    new.stands_at(7)
    told[1].continue_()
    expect(new.shown).to_have_attribute("data-index", "7")
    assert [route.request.post_data_json["index"] for route in told] == [1, 7]


@claims.full
def looks_right(page, address):
    """The screen fits a width of 420 points; pictures are taken in light, dark and narrow."""
    new, old = open_shorts(page, address, old_way="B", network="3g")
    for one in (new, old):
        one.next()
        expect(one.shown.locator("img")).to_be_visible()
    take_pictures(page, "shorts")


claims(keeps_to_itself)


if __name__ == "__main__":
    run(claims)
