# This source file is part of the Optimist open source project, under the MIT licence.
"""The phones' sessions in a real browser, against a running lab: session.py http://127.0.0.1:8080"""

from playwright.sync_api import expect

from planner import Claims, fresh, keeps_to_itself, open_lab, run, tab_to, take_pictures

claims = Claims()


class Session:
    """The session of a phone, as a person finds it below the phone and on its screen."""

    def __init__(self, phone, name):
        self.phone = phone
        self.region = phone.region.get_by_role("region", name=f"Session of phone {name}")
        self.state = self.region.locator(".session-state")
        self.note = self.region.get_by_role("status")
        self.account = self.region.locator("details.account")
        self.again = phone.region.get_by_role("button", name="Sign in again")

    def fact(self, name):
        return self.region.locator("dl > div").filter(has_text=name).locator("dd")

    def press(self, name):
        self.region.get_by_role("button", name=name, exact=True).click()


def open_sessions(page, address):
    for name in "AB":  # Left over from the previous claim.
        page.request.post(f"{address}/lab/devices/{name}/restart")
        page.request.post(f"{address}/lab/devices/{name}/sign-in")
    phones = open_lab(page, address)
    sessions = [Session(phone, name) for phone, name in zip(phones, "AB")]
    for session in sessions:
        expect(session.state).to_have_text("signed in")
    return sessions


@claims
def shows_the_session(page, address):
    """The panel shows the user, the token's age and the number of refreshes, and stays up to date."""
    a, b = open_sessions(page, address)
    expect(a.fact("Account")).to_have_text("planner@lab.example")
    expect(a.fact("Refreshes")).to_have_text("0")
    expect(a.fact("Token")).to_contain_text("s old, of 15 min")
    age = a.fact("Token").inner_text()
    expect(a.fact("Token")).not_to_have_text(age)  # The age grows.
    a.press("Expire token")
    expect(a.note).to_have_text("The server refuses this token. The next request refreshes it.")
    text = fresh("Sent with a new token")
    a.phone.write(text)
    b.phone.has(text, "synced")
    expect(a.fact("Refreshes")).to_have_text("1")
    expect(a.note).to_be_hidden()
    expect(a.state).to_have_text("signed in")
    expect(b.fact("Refreshes")).to_have_text("0")


def ends(page, address, button, reason):
    """Ends the session of phone A, and checks that nothing else changes."""
    a, b = open_sessions(page, address)
    a.press(button)
    expect(a.state).to_have_text("signed out")
    expect(a.note).to_have_text(reason)
    expect(a.fact("Token")).to_be_hidden()
    expect(page.get_by_role("region", name="Timeline")).to_contain_text(f"signed out: {reason}")
    expect(a.phone.region.locator(".banner")).to_contain_text(reason)
    expect(b.state).to_have_text("signed in")
    text, other = fresh("Written while signed out"), fresh("Written on the other phone")
    a.phone.write(text)
    a.phone.has(text, "pending")
    expect(a.phone.status).to_have_text("1 pending · signed out")
    b.phone.write(other)
    b.phone.has(other, "synced")
    expect(a.phone.todo(other)).to_have_count(0)
    expect(b.phone.todo(text)).to_have_count(0)
    a.again.click()
    expect(a.again).to_be_hidden()
    expect(a.region.get_by_role("button", name="Sign out")).to_be_focused()
    a.phone.has(text, "synced")
    a.phone.has(other, "synced")
    b.phone.has(text, "synced")


@claims
def revoked(page, address):
    """T3: after a revocation the phone reports it, keeps its rows, and sends them after the next sign-in."""
    ends(page, address, "Revoke", "The session was revoked.")


@claims.full
def signed_in_elsewhere(page, address):
    """T3: after a sign-in elsewhere the phone reports it, keeps its rows, and sends them after the next sign-in."""
    ends(page, address, "Sign in elsewhere", "The account was signed in on another device.")


@claims.full
def account_devices(page, address):
    """The account's panel lists its sessions, and can end the other phone's session."""
    a, b = open_sessions(page, address)
    a.account.locator("summary").click()
    mine = a.account.get_by_role("listitem").filter(has_text="Phone A")
    expect(mine).to_contain_text("this phone")
    expect(mine.get_by_role("button")).to_have_count(0)
    a.account.get_by_role("button", name="End the session of Phone B").click()
    expect(b.state).to_have_text("signed out")
    expect(b.note).to_have_text("The session was revoked.")
    expect(a.account.get_by_role("listitem").filter(has_text="Phone B")).to_have_count(0)
    expect(a.state).to_have_text("signed in")


@claims.full
def another_password(page, address):
    """A changed password leaves this phone signed in, and the other reports why it is signed out."""
    a, b = open_sessions(page, address)
    a.account.locator("summary").click()
    a.press("Change password")
    expect(b.state).to_have_text("signed out")
    expect(b.note).to_have_text("The password was changed on another device.")
    expect(a.state).to_have_text("signed in")
    b.again.click()
    expect(b.state).to_have_text("signed in")


@claims.full
def deleted_account(page, address):
    """T3: deleting the account takes two presses; both phones report why they are signed out, and can start again."""
    a, b = open_sessions(page, address)
    text = fresh("Of the old account")
    a.phone.write(text)
    b.phone.has(text, "synced")
    a.account.locator("summary").click()
    a.press("Delete account")
    expect(a.state).to_have_text("signed in")
    a.press("Really delete it")
    for session in (a, b):
        expect(session.state).to_have_text("signed out")
        expect(session.note).to_have_text("The account was deleted.")
        expect(session.phone.todo(text)).to_have_count(1)  # The phone keeps its rows.
    for session in (a, b):
        session.again.click()
        expect(session.state).to_have_text("signed in")
        expect(session.phone.todo(text)).to_have_count(0)
    text = fresh("Of the new account")
    a.phone.write(text)
    b.phone.has(text, "synced")


@claims.full
def told_late(page, address):
    """An offline phone continues as before, and the panel shows what it will learn."""
    a, _ = open_sessions(page, address)
    a.phone.network("Offline")
    a.press("Revoke")
    expect(a.note).to_have_text("The server has ended this session. The phone learns this with its next request.")
    expect(a.state).to_have_text("signed in")
    text = fresh("Written in ignorance")
    a.phone.write(text)
    a.phone.has(text, "pending")
    a.phone.network("Online")
    expect(a.state).to_have_text("signed out")
    a.phone.has(text, "pending")
    a.again.click()
    a.phone.has(text, "synced")


@claims
def signs_in_with_apple(page, address):
    """I5 I6: a person signs in with Apple, sees the ways to sign in, adds another one and removes it."""
    a, b = open_sessions(page, address)
    a.press("Sign out")
    a.press("Sign in with Apple (simulated)")
    expect(a.state).to_have_text("signed in")
    expect(a.fact("Account")).to_have_text("without an address")
    a.account.locator("summary").click()
    ways = a.account.get_by_role("list", name="Ways to sign in").get_by_role("listitem")
    expect(ways).to_have_count(1)
    a.press("Add Google (simulated)")
    expect(ways).to_have_count(2)
    expect(a.region.get_by_role("button", name="Add Google (simulated)")).to_be_hidden()
    take_pictures(page, "identities")
    a.press("Remove Google")
    expect(ways).to_have_count(1)
    a.press("Sign out")
    a.press("Sign in")
    expect(a.fact("Account")).to_have_text("planner@lab.example")


@claims.full
def works_by_keyboard(page, address):
    """The buttons work by keyboard, and the focus stays when a session has ended."""
    a, _ = open_sessions(page, address)
    tab_to(page, "Expire token")
    page.keyboard.press("Enter")
    expect(a.note).to_contain_text("The server refuses this token.")
    page.keyboard.press("Tab")
    page.keyboard.press("Space")
    expect(a.state).to_have_text("signed out")
    revoke = a.region.get_by_role("button", name="Revoke")
    expect(revoke).to_be_focused()
    expect(revoke).to_have_attribute("aria-disabled", "true")
    tab_to(page, "Sign in")
    page.keyboard.press("Enter")
    expect(a.state).to_have_text("signed in")


@claims.full
def looks_right(page, address):
    """The panel and the banner fit a width of 420 points; pictures are taken in light, dark and narrow."""
    a, b = open_sessions(page, address)
    a.press("Sign in elsewhere")
    expect(a.state).to_have_text("signed out")
    b.press("Expire token")
    expect(b.note).to_be_visible()
    b.account.locator("summary").click()
    expect(b.account.get_by_role("listitem")).not_to_have_count(0)
    a.phone.write(fresh("Waits for somebody to sign in"))
    expect(a.phone.status).to_contain_text("pending")
    take_pictures(page, "session")
    a.again.click()
    expect(a.phone.status).to_contain_text("up to date")


claims(keeps_to_itself)


if __name__ == "__main__":
    run(claims)
