# This source file is part of the Optimist open source project, under the MIT licence.
"""The page of the five stories in a real browser, against a running lab: stories.py http://127.0.0.1:8080"""

import re

from playwright.sync_api import expect

from planner import Claims, Phone, fresh, keeps_to_itself, run, take_pictures

claims = Claims()


@claims
def plays(page, address):
    """A link opens the stories, which play one run at a time, also by keyboard, and fill a table."""
    page.goto(address)
    page.get_by_role("link", name="Five stories").click()
    play = page.get_by_role("button", name="Play the stories")
    expect(play).to_be_enabled()
    play.focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("row").nth(1)).to_contain_text("1. Time until a new to-do is on the screen")
    expect(play).to_be_disabled()
    refusal = page.request.post(f"{address}/lab/stories")
    assert refusal.status == 400 and refusal.json()["code"] == "badLabRequest", refusal.text()
    page.reload()
    expect(page.get_by_role("status")).to_contain_text("Playing")
    plot = page.request.get(f"{address}/lab/stories.svg")
    assert plot.headers["content-type"] == "image/svg+xml" and "to-do" in plot.text()
    page.get_by_role("link", name="The phones").click()
    expect(page.get_by_role("region", name="Phone A", exact=True)).to_be_visible()


@claims
def fares_better(page, address):
    """A7 fifty people use two versions, and the lab plots how many had a crash, even on a phone."""
    page.goto(address)
    health = page.get_by_role("region", name="Health by version", exact=True)
    health.get_by_role("button", name="Fifty people use v1.0.1 and v1.0.2").click()
    for version in "v1.0.2", "v1.0.1":
        # The phones' own launches are counted before the people's.
        expect(health.get_by_role("listitem").filter(has_text=version)).to_contain_text(re.compile(r"\d\d people had no crash"))
    # The page of signatures shows the data of the moment when it is opened.
    expect(health.get_by_role("button", name="Fifty people")).to_be_enabled()
    page.set_viewport_size({"width": 390, "height": 900})
    health.get_by_role("link", name="Plot and signatures").click()
    expect(page.get_by_role("heading", name="1.0.1")).to_be_visible()
    expect(page.locator("figure svg")).to_be_visible()
    expect(page.get_by_text("LoginViewModel.loginMember()").first).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    page.set_viewport_size({"width": 1440, "height": 1100})


@claims
def ends_are_told_apart(page, address):
    """A1 the phone's next launch distinguishes a crash, a kill and a memory kill, and no unsent row is lost."""
    for name in "AB":  # Left over from the previous claim.
        page.request.post(f"{address}/lab/devices/{name}/restart")
    page.goto(address)
    phone = Phone(page, "A")
    end = phone.region.locator(".last-end")
    expect(phone.region.get_by_text("The app is v1.0.1, which crashes at sign-in.")).to_be_visible()
    expect(Phone(page, "B").region.get_by_text("The app is v1.0.2.")).to_be_visible()
    phone.network("Offline")
    texts = [fresh(f"Before end {number}") for number in (1, 2, 3)]
    ends = [
        ("Crash", "The previous launch crashed in LoginViewModel.loginMember(). "
         "1 row was unsent, and nothing was lost."),
        ("Kill", "The previous launch was killed, without a report or low memory. "
         "2 rows were unsent, and nothing was lost."),
        ("Run out of memory", "The previous launch was killed after a warning of low memory. "
         "3 rows were unsent, and nothing was lost."),
    ]
    for text, (button, sentence) in zip(texts, ends):
        phone.write(text)
        phone.has(text, "pending")
        phone.press(button)
        expect(phone.off).to_be_visible()
        expect(end).to_be_hidden()
        phone.press("Restart")
        expect(end).to_have_text(sentence)
    take_pictures(page, "ends")
    phone.network("Online")
    for text in texts:
        phone.has(text, "synced")
        Phone(page, "B").has(text, "synced")
    health = page.get_by_role("region", name="Health by version", exact=True)
    expect(health.get_by_role("listitem").filter(has_text="v1.0.1")).to_contain_text(re.compile(r"[1-9]\d* of them with unsent rows"))


@claims.full
def fits(page, address):
    """The page fits a width of 320 points."""
    page.set_viewport_size({"width": 320, "height": 900})
    page.goto(f"{address}/stories.html")
    expect(page.get_by_role("row").nth(1)).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= 320


claims(keeps_to_itself)


if __name__ == "__main__":
    run(claims)
