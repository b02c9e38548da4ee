# This source file is part of the Optimist open source project, under the MIT licence.
"""Signing in with Apple, against a provider on this machine, on a directory and on two servers of one PostgreSQL.

It starts servers with $OPTIMIST.
"""

import hashlib
import json
import sys
import tempfile
import time
from contextlib import ExitStack, contextmanager
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parents[1]), str(Path(__file__).resolve().parents[3] / "Scripts")]
from claims import Claims  # noqa: E402
from identity import KEYS, ask, exchange, issuer, public  # noqa: E402
from program import Program, run  # noqa: E402
from testing.postgres import Postgres, programs  # noqa: E402

SCHEMA = {"id": "notes", "version": 1, "types": {"note": {"text": {"type": "string"}}}}
claims = Claims()


class Site:
    """Servers with the same data, which accept tokens of Apple and of another provider."""

    def __init__(self, provider, keys, *place, count=1):
        self.provider, self.sent, self.tokens = provider, 0, []
        self.servers = [Program(
            "serve", "--port", "0", "--log-level", "trace", "--sign-in", "identity", *place, "--identity-provider",
            f"apple audience=org.example.app keys={keys}", "--identity-provider",
            f"oidc:{provider.address} audience=app name=other") for _ in range(count)]
        addresses = [server.find(r"Optimist serves (http://127\.0\.0\.1:\d+)") for server in self.servers]
        self.one, self.two = addresses[0], addresses[-1]

    def token(self, subject, nonce, algorithm="RS256", **more):
        """A token as Apple's, with a nonce."""
        self.tokens.append(self.provider.token(
            subject, algorithm, iss="https://appleid.apple.com", aud="org.example.app", nonce=nonce, **more))
        return self.tokens[-1]

    def proof(self, subject, **more):
        """A token with the hash of a new nonce, and the nonce, as an app sends them."""
        self.sent += 1
        nonce = f"nonce {self.sent}"
        return {"identityToken": self.token(subject, hashed(nonce), **more), "nonce": nonce}

    def enter(self, subject, address, device):
        proof = self.proof(subject)
        status, grant = exchange(address, proof["identityToken"], device, nonce=proof["nonce"])
        assert status == 200, grant
        return grant

    def close(self):
        for server in self.servers:
            server.kill()


def hashed(nonce):
    return hashlib.sha256(nonce.encode()).hexdigest()


def reason(answer):
    status, body = answer
    assert status >= 400, answer
    return body["reason"]


@claims
def nonces(sites):
    """I2 I3 Apple's token has the hash of the app's nonce, and is good once over all servers."""
    for site in sites:
        token = site.token("eve", hashed("chosen"))
        for more in {}, {"nonce": "another"}, {"nonce": hashed("chosen")}:
            assert reason(exchange(site.one, token, **more)) == "token_nonce", more
        for nonce in None, "chosen":
            assert reason(exchange(site.one, site.token("eve", nonce), nonce="chosen")) == "token_nonce", nonce
        other = site.token("eve", hashed("chosen"), "PS256")
        assert reason(exchange(site.one, other, nonce="chosen")) == "token_algorithm"
        assert exchange(site.one, token, nonce="chosen")[0] == 200
        for address in site.one, site.two:
            assert reason(exchange(address, token, nonce="chosen")) == "token_used", address


@claims
def life(sites):
    """I5 I6 I7 a user of Apple has two devices, changes the provider, and deletes the account."""
    for site in sites:
        phone, tablet = site.enter("ann", site.one, "phone"), site.enter("ann", site.two, "tablet")
        on_phone, on_tablet = phone["access_token"], tablet["access_token"]
        assert tablet["account_id"] == phone["account_id"], tablet
        other = site.provider.token

        body = {"identityToken": other(), "confirmation": site.proof("ann")}
        assert ask(site.two, "/auth/identities", body, on_tablet)[0] == 201
        _, listed = ask(site.one, "/auth/identities", None, on_phone)
        removals = {entry["provider"]: f"/auth/identities/{entry['id']}/remove" for entry in listed["identities"]}
        assert list(removals) == ["apple", "other"] and not listed["hasPassword"], listed
        stale = {"identityToken": other(auth_time=int(time.time()) - 400)}
        assert reason(ask(site.one, removals["apple"], stale, on_phone)) == "token_stale"
        assert ask(site.one, removals["apple"], {"identityToken": other()}, on_phone) == (200, {})
        _, listed = ask(site.two, "/auth/identities", None, on_tablet)
        assert [entry["provider"] for entry in listed["identities"]] == ["other"], listed
        assert reason(ask(site.two, removals["other"], {"identityToken": other()}, on_tablet)) == "last_way_in"
        stranger = site.enter("ann", site.one, "phone")
        assert stranger["account_id"] != phone["account_id"], "the removed identity still opens the account"

        assert reason(ask(site.one, "/auth/delete-account", site.proof("ann"), on_phone)) == "foreign_identity"
        assert reason(ask(site.one, "/auth/delete-account", stale, on_phone)) == "token_stale"
        assert ask(site.one, "/auth/delete-account", {"identityToken": other()}, on_phone) == (200, {})
        for address, token in (site.one, on_phone), (site.two, on_tablet):
            assert reason(ask(address, "/auth/identities", None, token)) == "account_deleted"
        anew = exchange(site.two, other())[1]["account_id"]
        assert anew not in (phone["account_id"], stranger["account_id"])


@claims
def secrets(sites):
    """I8 no log of a server has a token of Apple."""
    for site in sites:
        said = "".join(server.said for server in site.servers)
        assert "identity_linked" in said and site.tokens, said
        assert not [token for token in site.tokens if token.split(".")[1] in said or token.split(".")[2] in said]


@contextmanager
def places():
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        provider = stack.enter_context(issuer())
        # One store reads the keys from an address, and the other from a file.
        sites = [Site(provider, f"{provider.address}/keys", "--data", folder / "data")]
        stack.callback(sites[0].close)
        if programs():
            cluster = stack.enter_context(Postgres())
            (folder / "secret").write_text(run("secret")[1])
            (folder / "schema.json").write_text(json.dumps(SCHEMA))
            (folder / "keys.json").write_text(json.dumps({"keys": [public(name) for name in KEYS]}))
            sites.append(Site(
                provider, folder / "keys.json", "--database", cluster.url, "--secret", folder / "secret", "--schema",
                folder / "schema.json", count=2))
            stack.callback(sites[1].close)
        yield sites


if __name__ == "__main__":
    with places() as found:
        claims.run(found)
