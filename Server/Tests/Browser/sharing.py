# This source file is part of the Optimist open source project, under the MIT licence.
"""The page of a shared list in a real browser, against a running lab: sharing.py http://127.0.0.1:8080

The claims are one story: each continues where the previous one ended.
"""

from playwright.sync_api import expect

from planner import Claims, keeps_to_itself, run, take_pictures

claims = Claims()


class Device:
    """One device on the page, as a person or a screen reader finds it."""

    def __init__(self, page, title):
        self.page = page
        self.region = page.get_by_role("region", name=title, exact=True)
        self.unsent = self.region.get_by_role("region", name="Not sent", exact=True)

    def tab(self, name):
        self.region.get_by_role("tab", name=name, exact=True).click()

    def network(self, name):
        self.region.locator(".segments label").filter(has_text=name).click()
        expect(self.region.locator(".signal")).to_have_text(name)

    def shelf(self, name):
        return self.region.get_by_role("region", name=name, exact=True)

    def card(self, title):
        return self.region.get_by_role("article").filter(has=self.page.get_by_role("heading", name=title, exact=True))

    def todo(self, text):
        checkbox = self.page.get_by_role("checkbox", name=f"Done: {text}", exact=True)
        return self.region.get_by_role("listitem").filter(has=checkbox)

    def has(self, text, state):
        expect(self.todo(text)).to_have_count(1)
        expect(self.todo(text).locator(".badge")).to_have_text(state)

    def enter(self, label, text):
        field = self.region.get_by_label(label, exact=True)
        field.fill(text)
        field.press("Enter")
        expect(field).to_have_value("")

    def write(self, title, text):
        self.tab("Lists")
        self.enter(f"New to-do in {title}", text)

    def edit(self, text, replacement):
        field = self.todo(text).get_by_role("textbox")
        field.fill(replacement)
        field.press("Enter")

    def choose(self, menu, option):
        self.region.get_by_label(menu, exact=True).select_option(option)

    def link(self, space):
        """Makes a link, and returns it when it works."""
        self.tab("People")
        people = self.shelf(f"People of {space}")
        people.get_by_role("button", name="Make a link").click()
        expect(people.get_by_text("For one person, as writer.", exact=True)).to_be_visible()
        return people.get_by_label("Link", exact=True).input_value()


class Home:
    """The page with the devices of two people."""

    def __init__(self, page, address):
        self.page, self.address = page, address
        self.ann, self.tablet, self.bob = (
            Device(page, title) for title in ("Ann’s phone", "Ann’s tablet", "Bob’s phone"))

    def open(self):
        self.page.goto(self.address)
        self.page.get_by_role("link", name="A shared list").click()
        expect(self.ann.region).to_be_visible()
        self.page.get_by_role("button", name="Start over").click()
        expect(self.page.locator("#sharing[inert]")).to_have_count(0)
        return self

    def all_have(self, text):
        for device in (self.ann, self.tablet, self.bob):
            device.has(text, "synced")

    def invite(self, space):
        self.bob.tab("People")
        self.bob.enter("Link on Bob’s phone", self.ann.link(space))
        for device in (self.ann, self.bob):
            device.tab("Lists")
        expect(self.bob.shelf(space).get_by_text("writer")).to_be_visible()


@claims
def made_offline(page, address):
    """P1 a list made offline inside a space is on the screen at once, and on the other device when online."""
    home = Home(page, address).open()
    ann, tablet, bob = home.ann, home.tablet, home.bob
    ann.network("Offline")
    ann.tab("People")
    ann.enter("New space on Ann’s phone", "Home")
    ann.tab("Lists")
    expect(ann.shelf("Home")).to_contain_text("Waits for the server.")
    ann.choose("Where the new list goes", "Home")
    ann.enter("New list on Ann’s phone", "Groceries")
    ann.write("Groceries", "Milk")
    ann.has("Milk", "pending")
    take_pictures(page, "sharing-offline")
    expect(tablet.todo("Milk")).to_have_count(0)
    ann.network("Online")
    for device in (ann, tablet):
        device.has("Milk", "synced")
    expect(ann.shelf("Home")).to_contain_text("Ann (you)")
    expect(bob.todo("Milk")).to_have_count(0)


@claims
def joined_by_a_link(page, address):
    """P9 the other person opens the link, and both write."""
    home = Home(page, address)
    code = home.ann.link("Home")
    home.bob.tab("People")
    take_pictures(page, "sharing-link")
    home.bob.enter("Link on Bob’s phone", code)
    for device in (home.ann, home.bob):
        device.tab("Lists")
    home.bob.has("Milk", "synced")
    home.bob.write("Groceries", "Eggs")
    home.tablet.write("Groceries", "Tea")
    for text in ("Milk", "Eggs", "Tea"):
        home.all_have(text)
    expect(home.tablet.shelf("Home")).to_contain_text("Ann (you), Bob")


@claims
def lowered_and_raised(page, address):
    """P6 a reader's write is refused on the device, and the buttons are grey until the role is raised."""
    home = Home(page, address)
    home.ann.tab("People")
    home.ann.choose("Role of Bob", "reader")
    bob = home.bob
    add = bob.region.get_by_role("button", name="Add to Groceries")
    expect(bob.shelf("Home").get_by_text("reader")).to_be_visible()
    expect(add).to_be_disabled()
    expect(bob.todo("Milk").get_by_role("checkbox")).to_be_disabled()
    take_pictures(page, "sharing-reader")
    phone = f"{address}/lab/sharing/phones/bob-phone"
    shown = page.request.get(f"{phone}/screen").json()
    refusal = page.request.post(f"{phone}/lists/{shown['lists'][0]['id']}/items", data={"content": "Butter"})
    assert refusal.status == 403 and refusal.json()["code"] == "readOnlySpace", refusal.text()
    assert page.request.get(f"{phone}/screen").json() == shown
    home.ann.choose("Role of Bob", "writer")
    expect(add).to_be_enabled()
    bob.write("Groceries", "Salt")
    home.ann.tab("Lists")
    home.all_have("Salt")


@claims
def moved_from_own_rows(page, address):
    """P4 an edit that the tablet made offline follows its list from the person's own rows into the space."""
    home = Home(page, address)
    ann, tablet = home.ann, home.tablet
    ann.choose("Where the new list goes", "Only Ann")
    ann.enter("New list on Ann’s phone", "Camping")
    ann.write("Camping", "Tent")
    tablet.has("Tent", "synced")
    tablet.network("Offline")
    tablet.edit("Tent", "Big tent")
    tablet.has("Big tent", "pending")
    ann.choose("Move Camping", "Home")
    home.bob.has("Tent", "synced")
    tablet.network("Online")
    home.all_have("Big tent")
    for device in (home.ann, tablet, home.bob):
        expect(device.shelf("Home").get_by_role("heading", name="Camping")).to_be_visible()


@claims
def moved_between_spaces(page, address):
    """P4 an edit that Bob made offline follows a list from one space to another."""
    home = Home(page, address)
    home.ann.tab("People")
    home.ann.enter("New space on Ann’s phone", "Trip")
    home.invite("Trip")
    home.bob.network("Offline")
    home.bob.edit("Big tent", "Tent for two")
    home.ann.choose("Move Camping", "Trip")
    expect(home.tablet.shelf("Trip").get_by_role("heading", name="Camping")).to_be_visible()
    take_pictures(page, "sharing-move")
    home.bob.network("Online")
    home.all_have("Tent for two")
    expect(home.bob.shelf("Trip").get_by_role("heading", name="Camping")).to_be_visible()


# Records the parts of the space Home in every drawn state of a device.
RECORD = """(screen) => {
    const device = screen.parentElement;
    const count = (selector) => device.querySelectorAll(selector).length;
    const see = () => [
        count('[aria-label="Home"]'), count('[aria-label="Home"] .card'), count('[aria-label="Home"] .todo'),
        count('[aria-label="People of Home"]'),
    ].join(' ');
    window.drawn = new Set([see()]);
    new MutationObserver(() => window.drawn.add(see())).observe(device, { childList: true, subtree: true });
}"""


@claims
def removed(page, address):
    """P8 a removed person's device loses the list in one frame, and shows the unsent to-do under Not sent."""
    home = Home(page, address)
    ann, bob = home.ann, home.bob
    bob.network("Offline")
    bob.write("Groceries", "Bread")
    bob.has("Bread", "pending")
    ann.tab("People")
    people = ann.shelf("People of Home")
    people.get_by_role("button", name="Remove Bob").click()
    expect(people.get_by_role("listitem")).to_have_count(1)
    expect(home.tablet.shelf("Home")).not_to_contain_text("Bob")
    bob.region.locator(".planner").first.evaluate(RECORD)
    bob.network("Online")
    expect(bob.shelf("Home")).to_have_count(0)
    assert page.evaluate("[...window.drawn]") == ["1 1 5 1", "0 0 0 0"]
    expect(bob.region.get_by_text("Home has left this device.")).to_be_visible()
    expect(bob.unsent).to_contain_text("accessRevoked")
    expect(bob.unsent.get_by_role("textbox")).to_have_value("Bread")
    home.bob.has("Tent for two", "synced")
    take_pictures(page, "sharing-removed")
    bob.unsent.get_by_role("button", name="Send again").click()
    expect(page.locator("#notice")).to_contain_text("is not on this device")
    expect(bob.unsent).to_contain_text("accessRevoked")


@claims
def invited_again(page, address):
    """P9 after a new invitation the list is back, and the to-do that was not sent arrives at Ann's."""
    home = Home(page, address)
    home.invite("Home")
    home.bob.has("Milk", "synced")
    expect(home.bob.region.get_by_text("Home has left this device.")).to_have_count(0)
    expect(home.ann.todo("Bread")).to_have_count(0)
    home.bob.unsent.get_by_role("button", name="Send again").click()
    expect(home.bob.unsent).to_be_hidden()
    home.all_have("Bread")
    take_pictures(page, "sharing")


@claims
def survives_a_reload(page, address):
    """The page shows the same lists after a reload, and text from users is never markup."""
    home = Home(page, address)
    home.ann.write("Groceries", "<b>bold</b>")
    home.all_have("<b>bold</b>")
    page.reload()
    home.all_have("<b>bold</b>")
    assert page.locator("main b").count() == 0


@claims
def keeps_quiet(page, address):
    """The page requested nothing from another origin and logged no error."""
    # The browser logs an error when the device refuses to send a to-do whose list is gone.
    keeps_to_itself(page, address, "400 (Bad Request)")


if __name__ == "__main__":
    run(claims)
