# This source file is part of the Optimist open source project, under the MIT licence.
"""What a phone's session does when its token or its session ends, in a running lab: lab_session.py
http://127.0.0.1:8080"""

import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
from claims import Claims  # noqa: E402
from lab import Lab, Refused, pair, refused  # noqa: E402
from program import eventually  # noqa: E402

claims = Claims()

# What ends a phone's session on the server, and the reason the phone receives.
ENDS = {"revoke": "revoked", "sign-in-elsewhere": "signed_in_elsewhere"}


def until_state(phone, state):
    eventually(lambda: f"{phone.name} is {state}: {phone.session}", lambda: phone.session["state"] == state)


def until_signed_out(phone, reason):
    """The phone records the reason a moment after its session has ended."""
    until_state(phone, "signedOut")
    eventually(
        lambda: f"{phone.name} says {reason}: {phone.session}",
        lambda: phone.session.get("lastSignOut", {}).get("reason") == reason)


def refused_status(call, *arguments):
    try:
        call(*arguments)
    except Refused as refusal:
        return refusal.status
    raise AssertionError(f"{arguments} was answered")


def said(timeline):
    return [event["text"] for event in timeline.events if event["kind"] == "session"]


@claims
def expired_token_is_renewed(lab):
    """T1: the server refuses an expired token; the next request renews it, and the phone stays signed in."""
    a, b = pair(lab)
    before, other = a.session, b.session
    assert before["state"] == "active" and not before["token"]["refused"] and before["refreshes"] == 0, before
    assert 0 <= before["token"]["ageMs"] < 900_000 and before["account"].endswith("@lab.example"), before
    with a.follow() as timeline:
        for count in (1, 2):
            expired = a.call("POST", "session/expire")
            assert expired["token"]["refused"] and expired["refreshes"] == count - 1, expired
            b.until_shows(a.add(f"With new token {count}")["id"])
            a.until_sent()
            eventually(lambda: f"renewed once more: {a.session}", lambda: not a.session["token"]["refused"])
            assert a.session["refreshes"] == count and a.session["state"] == "active", a.session
        eventually(lambda: f"two renewals: {said(timeline)}", lambda: said(timeline).count("got a new token") == 2)
    assert not any(text.startswith("signed out") for text in said(timeline)), said(timeline)
    assert b.session["refreshes"] == other["refreshes"] == 0


@claims
def expired_offline(lab):
    """T4: a token that expires offline is renewed when the network returns, and pending rows are sent."""
    a, b = pair(lab)
    a.network("offline")
    a.call("POST", "session/expire")
    row = a.add("Written with an expired token")["id"]
    assert a.session["state"] in ("active", "refreshing", "degraded") and a.outbox, a.session
    a.network("online")
    b.until_shows(row)
    a.until_sent()
    assert a.session["refreshes"] == 1 and not a.session["token"]["refused"], a.session


@claims
def told_at_once(lab):
    """T3: a session's end on the server is reported immediately and once, with its reason; pending rows wait."""
    for end, reason in ENDS.items():
        a, b = pair(lab)
        with a.follow() as timeline:
            a.call("POST", f"session/{end}")
            until_signed_out(a, reason)
            eventually(lambda: f"paused: {a.device}", lambda: a.device["status"]["phase"] == "paused")
            assert "token" not in a.session, a.session
            row = a.add(f"Written after {end}")["id"]
            assert a.shown(row)["sync"] == "pending" and not a.device["signedIn"]
            # The other phone continues in each case, and the end of A's session is not reported again.
            b.until_shows(b.add("The other phone goes on")["id"])
            assert b.session["state"] == "active" and [entry["id"] for entry in a.outbox] == [row]
            for what in ("expire", *ENDS):
                refused(403, "session.signedOut", a.call, "POST", f"session/{what}")
            a.call("POST", "restart")
            until_signed_out(a, reason)
            assert [entry["id"] for entry in a.outbox] == [row]
            a.call("POST", "sign-in")
            b.until_shows(row)
            a.until_sent()
            eventually(lambda: f"signed in: {said(timeline)}", lambda: "signed in" in said(timeline))
        assert said(timeline).count(f"signed out: {reason}") == 1, said(timeline)
        assert a.session["state"] == "active" and a.session["refreshes"] == 0, a.session


@claims
def told_late(lab):
    """T3: a phone that was offline or off learns of its session's end at its next request."""
    for end, reason in ENDS.items():
        a, b = pair(lab)
        a.network("offline")
        row = a.add("Written before it knew")["id"]
        a.call("POST", f"session/{end}")
        assert a.session["state"] != "signedOut" and a.session["endedOnServer"] == reason, a.session
        assert a.session["token"]["refused"]
        a.call("POST", "crash")
        assert a.session["state"] == "off" and a.session["endedOnServer"] == reason, a.session
        a.call("POST", "restart")
        a.network("online")
        until_signed_out(a, reason)
        assert [entry["id"] for entry in a.outbox] == [row]
        a.call("POST", "sign-in")
        b.until_shows(row)


def devices(phone):
    return [(entry["device"], entry["isCurrent"]) for entry in phone.call("GET", "session/devices")]


@claims
def lists_and_ends_sessions(lab):
    """A phone lists its account's sessions and ends that of another phone, which is notified immediately."""
    a, b = pair(lab)
    assert sorted(devices(a)) == sorted([(f"Phone {a.name}", True), (f"Phone {b.name}", False)]), devices(a)
    other = next(entry["id"] for entry in a.call("GET", "session/devices") if not entry["isCurrent"])
    left = a.call("DELETE", f"session/devices/{other}")
    assert [entry["device"] for entry in left] == [f"Phone {a.name}"], left
    until_signed_out(b, "revoked")
    assert a.session["state"] == "active", a.session
    refused(404, "session.unknownSession", a.call, "DELETE", "session/devices/s0")
    a.network("offline")
    assert refused_status(a.call, "GET", "session/devices") == 504
    a.network("online")
    b.call("POST", "sign-in")
    until_state(b, "active")


@claims
def another_password(lab):
    """A phone that changes the password stays signed in; the other is signed out, keeps its rows, and returns."""
    a, b = pair(lab)
    b.network("offline")
    row = b.add("Written before the password was changed")["id"]
    a.call("POST", "session/password")
    assert a.session["state"] == "active", a.session
    b.network("online")
    until_signed_out(b, "password_changed")
    assert [entry["id"] for entry in b.outbox] == [row]
    b.call("POST", "sign-in")
    a.until_shows(row)
    b.until_sent()


@claims
def deleted_account(lab):
    """T3 S7: after an account's deletion each phone reports why and keeps its rows; a new account gets none."""
    a, b = pair(lab)
    shared_row = a.add("On the server before")["id"]
    b.until_shows(shared_row)
    b.network("offline")
    row = b.add("Written before it knew")["id"]
    a.call("POST", "session/delete-account")
    until_signed_out(a, "account_deleted")
    assert a.shown(shared_row), a.session
    b.network("online")
    until_signed_out(b, "account_deleted")
    b.call("POST", "restart")
    assert [entry["id"] for entry in b.outbox] == [row] and b.shown(shared_row)
    a.call("POST", "sign-in")
    b.call("POST", "sign-in")
    fresh = a.add("Of the new account")["id"]
    b.until_shows(fresh)
    assert [held["id"] for held in a.server] == [fresh], a.server
    for phone in (a, b):
        assert phone.shown(shared_row) is None and phone.shown(row) is None


def providers(ways):
    return [identity["provider"] for identity in ways["identities"]]


@claims
def signs_in_with_identities(lab):
    """I5 I6 I7: two phones sign in with the same Apple identity, add Google's, and delete their account with it."""
    a, b = pair(lab)
    own = a.add("Of the account with a password")["id"]
    a.until_sent()
    for phone in (a, b):
        phone.call("POST", "sign-out")
        assert phone.call("POST", "session/identity", {"provider": "apple"})["account"] == "", phone.session
        assert phone.shown(own) is None
    row = a.add("Of the account without a password")["id"]
    b.until_shows(row)
    ways = a.call("GET", "session/identities")
    assert providers(ways) == ["apple"] and not ways["hasPassword"], ways
    refused(409, "session.lastWayIn", a.call, "DELETE", f"session/identities/{ways['identities'][0]['id']}")
    assert providers(a.call("POST", "session/identities", {"provider": "google"})) == ["apple", "google"]
    b.call("POST", "sign-out")
    b.call("POST", "session/identity", {"provider": "google"})
    b.until_shows(b.add("Written after a sign-in with Google")["id"])
    assert providers(b.call("DELETE", f"session/identities/{ways['identities'][0]['id']}")) == ["google"]
    refused(400, "badLabRequest", a.call, "POST", "session/identity", {"provider": "unknown"})
    a.call("POST", "session/delete-account")
    for phone in (a, b):
        until_signed_out(phone, "account_deleted")
        phone.call("POST", "sign-in")
        phone.until_shows(own)
        assert phone.shown(row) is None and phone.session["account"].endswith("@lab.example"), phone.session


@claims
def shows_no_token(lab):
    """T9: the lab's view of a session contains no token."""
    a, _ = pair(lab)
    for answer in (a.session, a.call("POST", "session/expire"), a.call("POST", "session/revoke"), a.device):
        text = json.dumps(answer)
        assert "eyJ" not in text and "r1." not in text and "oken\": \"" not in text, text
    refused(404, "notInLab", lab.call, "GET", "devices/Z/session")
    refused(404, "notInLab", lab.call, "POST", "devices/Z/session/expire")


if __name__ == "__main__":
    claims.run(Lab(sys.argv[1].rstrip("/")))
