# This source file is part of the Optimist open source project, under the MIT licence.
"""The page of the five stories in a real browser, against a running lab: stories.py http://127.0.0.1:8080"""

from playwright.sync_api import expect

from planner import Claims, keeps_to_itself, run

claims = Claims()


@claims
def plays(page, address):
    """A link leads to the stories, which are played once at a time, by keyboard too, and fill a table as they are."""
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
    """A7 fifty people use two versions of an app, and the lab shows how many met a crash, with a plot that fits a phone."""
    page.goto(address)
    health = page.get_by_role("region", name="Health by version", exact=True)
    health.get_by_role("button", name="Fifty people use v1.0.1 and v1.0.2").click()
    for version in "v1.0.2", "v1.0.1":
        expect(health.get_by_role("listitem").filter(has_text=version)).to_contain_text("met no crash")
    page.set_viewport_size({"width": 390, "height": 900})
    health.get_by_role("link", name="Plot and signatures").click()
    expect(page.get_by_role("heading", name="1.0.1")).to_be_visible()
    expect(page.locator("figure svg")).to_be_visible()
    expect(page.get_by_text("LoginViewModel.loginMember()").first).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    page.set_viewport_size({"width": 1440, "height": 1100})


@claims.full
def fits(page, address):
    """The page fits 320 points of width."""
    page.set_viewport_size({"width": 320, "height": 900})
    page.goto(f"{address}/stories.html")
    expect(page.get_by_role("row").nth(1)).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= 320


claims(keeps_to_itself)


if __name__ == "__main__":
    run(claims)
