# This source file is part of the Optimist open source project, under the MIT licence.
"""The phones' poses in a real browser, against a running lab: poses.py http://127.0.0.1:8080"""

import re

from playwright.sync_api import expect

from planner import Claims, keeps_to_itself, open_emptied, run, take_pictures

claims = Claims()


class Poses:
    """The poses of one phone, as a person sees them."""

    def __init__(self, phone, name):
        self.phone = phone
        self.name = name
        self.feed = phone.region.get_by_role("region", name=f"Poses on phone {name}")
        self.chosen = self.feed.locator("section").first.locator(".pose")
        self.recommended = self.feed.locator("section").last.locator(".pose")
        self.pictures = self.feed.locator(".pose img")

    def open(self):
        self.phone.region.get_by_role("tab", name="Poses").click()
        expect(self.feed).to_be_visible()

    def chip(self, name):
        return self.phone.region.get_by_role("button", name=name, exact=True)

    def first_page(self):
        """The pictures among the first eight poses."""
        return self.feed.locator("section").first.locator(".pose:nth-child(-n + 8) img")

    def steps(self, entry):
        """The steps of the newest timeline entry with this name."""
        row = self.phone.page.get_by_role("region", name="Timeline").locator("li.write").filter(
            has_text=entry, has=self.phone.page.locator(".device", has_text=self.name))
        return row.first.locator(".steps")


def open_poses(page, address, **given):
    return [Poses(phone, name) for phone, name in zip(open_emptied(page, address, **given), "AB")]


@claims
def one_hangs_and_seven_show(page, address):
    """F1: one hanging picture does not hide the other seven; in the old way it hides all."""
    new, old = open_poses(page, address, old_way="B")
    page.request.put(f"{address}/lab/server/pictures", data={"id": "c3"})
    new.open()
    expect(new.chosen).not_to_have_count(0)
    expect(new.first_page()).to_have_count(7)
    expect(new.feed.locator(".pose[data-phase=placeholder]")).not_to_have_count(0)
    old.open()
    expect(old.feed).to_contain_text("Loading …")
    # A phone may request a picture twice, if it cancelled the prefetch while the pose was far away.
    expect(page.get_by_text(re.compile("[2-9] held back"))).to_be_visible()
    expect(old.pictures).to_have_count(0)
    page.get_by_role("button", name="Let them go").click()
    expect(new.first_page()).to_have_count(8)
    expect(old.first_page()).to_have_count(8)


@claims.full
def places_come_first(page, address):
    """F1: a page's placeholders appear before its pictures, in their final size."""
    new, _ = open_poses(page, address, held=100)
    new.open()
    expect(new.feed.locator(".pose[data-phase=placeholder]")).not_to_have_count(0)
    before = new.chosen.first.bounding_box()
    page.request.put(f"{address}/lab/server/pictures", data={"next": 0})
    expect(new.chosen.first.locator("img")).to_be_visible()
    assert new.chosen.first.bounding_box() == before
    expect(new.steps("First page of chosen")).to_contain_text("first picture")


@claims.full
def scrolls_without_end(page, address):
    """F4, F8: the next pages load before the end is reached, and each pose appears once."""
    new, _ = open_poses(page, address)
    new.open()
    expect(new.first_page()).to_have_count(8)
    while new.recommended.count() < 40:
        count = new.recommended.count()
        new.feed.evaluate("feed => feed.scrollBy(0, 900)")
        page.wait_for_function(
            "([feed, count]) => feed.querySelectorAll('section:last-child .pose').length > count || feed.scrollHeight > "
            "feed.scrollTop + feed.clientHeight + 100", arg=[new.feed.element_handle(), count])
    ids = new.feed.locator(".pose").evaluate_all("cards => cards.map(card => card.dataset.id)")
    assert len(ids) == len(set(ids))
    visible = new.feed.evaluate(
        "feed => [...feed.querySelectorAll('.pose')].filter(card => card.getBoundingClientRect().top >= "
        "feed.getBoundingClientRect().top && card.getBoundingClientRect().top < feed.getBoundingClientRect().bottom)"
        ".map(card => card.dataset.id)")
    assert visible
    for id in visible:
        expect(new.feed.locator(f".pose[data-id={id}] img")).to_be_visible()
    facts = page.request.get(f"{address}/lab/devices/A/loading").json()
    assert facts["requests"] <= facts["things"] + sum(loader["cancelled"] for loader in facts["loaders"]), facts


@claims.full
def filters(page, address):
    """F7: a chip shows another selection, even if answers for the former one are late."""
    new, _ = open_poses(page, address, network="3g")
    new.open()
    expect(new.chosen).not_to_have_count(0)
    new.chip("2 people").click()
    new.chip("jump").click()
    expect(new.chip("jump")).to_have_attribute("aria-pressed", "true")
    # The chips show the selection before its first page arrives.
    page.wait_for_function(
        "feed => feed.querySelector('section:last-child .pose') && [...feed.querySelectorAll('.pose')].every("
        "({ title }) => title.includes('2 people') && title.includes('jump'))", arg=new.feed.element_handle())
    new.chip("2 people").click()
    new.chip("jump").click()
    expect(new.feed.locator(".pose[title*='3 people']").first).to_be_attached()


@claims.full
def refreshes_by_difference(page, address):
    """F6: a refresh brings a new pose, and the pose on the screen stays there."""
    new, _ = open_poses(page, address)
    new.open()
    expect(new.recommended).not_to_have_count(0)
    new.feed.evaluate("feed => feed.scrollBy(0, 3600)")
    anchor = new.recommended.nth(6)
    anchor.evaluate("card => card.scrollIntoView({block: 'center'})")
    expect(anchor.locator("img")).to_be_visible()
    id = anchor.get_attribute("data-id")
    pose = page.request.post(f"{address}/lab/server/poses").json()
    new.phone.press("Refresh")
    expect(new.feed.locator(f".pose[data-id={pose['id']}]")).to_be_attached()
    card = new.feed.locator(f".pose[data-id={id}]")
    expect(card.locator("img")).to_be_visible()
    box, screen = card.bounding_box(), new.feed.bounding_box()
    assert screen["y"] - box["height"] < box["y"] < screen["y"] + screen["height"], "it has gone elsewhere"


@claims.full
def offline_after_a_restart(page, address):
    """F2, F6: after an offline restart the last pages are shown, marked as old, until the network returns."""
    new, _ = open_poses(page, address)
    new.open()
    expect(new.first_page()).to_have_count(8)
    page.request.put(f"{address}/lab/devices/A/network", data={"profile": "offline"})
    page.request.post(f"{address}/lab/devices/A/restart")
    expect(new.feed.locator("h3").first).to_contain_text("outdated")
    expect(new.first_page()).to_have_count(8)
    again = new.feed.get_by_role("button", name="Try again", exact=True).first
    expect(again).to_be_visible()
    again.click()
    expect(again).to_be_visible()
    new.phone.network("Online")  # Then it retries automatically.
    expect(new.feed.locator("h3").first).not_to_contain_text("outdated")


@claims.full
def works_by_keyboard(page, address):
    """Chips and the feed work by keyboard alone, and two chips pressed together both count."""
    new, _ = open_poses(page, address)
    new.open()
    expect(new.recommended).not_to_have_count(0)
    new.chip("2 people").focus()
    page.keyboard.press("Space")
    expect(new.chip("2 people")).to_have_attribute("aria-pressed", "true")
    page.keyboard.press("Space")
    new.phone.region.evaluate("""phone => {
        for (const name of ['2 people', 'jump']) {
            [...phone.querySelectorAll('.chip')].find(chip => chip.textContent === name).click();
        }
    }""")
    for name in "2 people", "jump":
        expect(new.chip(name)).to_have_attribute("aria-pressed", "true")
    # The chips show a choice before the phone has received it.
    page.wait_for_function("""async () => {
        const { filter } = await (await fetch('/lab/devices/A/feed')).json();
        return filter.people === 2 && filter.tag === 'jump';
    }""")
    # A short list ignores a key press, and so does a list whose poses another choice removes.
    feed = new.feed.element_handle()
    page.wait_for_function("""feed => {
        const titles = [...feed.querySelectorAll('.pose')].map(pose => pose.title);
        return titles.every(title => title.includes('2 people') && title.includes('jump'))
            && feed.scrollHeight > feed.clientHeight + 200;
    }""", arg=feed)
    for name in "2 people", "jump":
        expect(new.chip(name)).to_have_attribute("aria-pressed", "true")
    new.feed.focus()
    page.keyboard.press("PageDown")
    page.wait_for_function("feed => feed.scrollTop > 100", arg=feed)


@claims.full
def looks_right(page, address):
    """The screen fits a width of 420 points; pictures are taken in light, dark and narrow."""
    new, old = open_poses(page, address, old_way="B", network="3g")
    for one in (new, old):
        one.open()
    expect(new.first_page()).to_have_count(8)
    take_pictures(page, "poses")


claims(keeps_to_itself)


if __name__ == "__main__":
    run(claims)
