# This source file is part of the Optimist open source project, under the MIT licence.
"""Programs with service keys, on a directory and on PostgreSQL: a plain JMAP client in Python, and curl.

It starts servers with $OPTIMIST.
"""

import http.client
import json
import subprocess
import tempfile
import threading
import urllib.request
import uuid
from pathlib import Path
from urllib.parse import quote, urlsplit

from service_sites import CORE, ERRORS, NEWS, Site, ask, places
from claims import Claims, Skip
from program import PATIENCE, Program, eventually, run
from testing.postgres import Postgres

claims = Claims()


def called(*arguments):
    """The JSON that curl gets."""
    done = subprocess.run(["curl", "-sS", "--max-time", "60", *arguments], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


@claims
def first(sites):
    """With a new key, curl finds an account and writes a row, which the person's device hears of."""
    for site in sites:
        key, heard = site.key("first"), []

        def listen():
            connection = http.client.HTTPConnection("127.0.0.1", site.port, timeout=60)
            connection.request("GET", "/jmap/eventsource?types=*&closeafter=no&ping=1", headers={
                "Authorization": f"Bearer {site.ann['access_token']}"})
            answer = connection.getresponse()
            while line := answer.readline():
                heard.append(line.decode())
                if ".1\"" in heard[-1] and "list" in heard[-1]:
                    return

        ear = threading.Thread(target=listen, daemon=True)
        ear.start()
        eventually("the device listens", lambda: heard)
        bearer, at = ["-H", f"Authorization: Bearer {key}"], f"http://127.0.0.1:{site.port}"
        found = called(*bearer, f"{at}/service/accounts?email={quote('ann@example.org')}")["accounts"]
        assert [account["id"] for account in found] == [site.ann["account_id"]], found
        row = str(uuid.uuid4())
        body = {"using": [CORE], "methodCalls": [
            ["list/set", {"accountId": found[0]["id"], "create": {row: {"title": "Paid"}}}, "0"]]}
        made = called(*bearer, "-H", "Content-Type: application/json", "-d", json.dumps(body), f"{at}/jmap")
        assert made["methodResponses"][0][1].get("created"), made
        mine = site.jmap(site.ann["access_token"], "list/get", site.ann["account_id"], ids=None)[1]["list"]
        assert [row["title"] for row in mine] == ["Paid"], mine
        ear.join(60)
        assert not ear.is_alive(), heard


@claims
def limits(sites):
    """A key reaches only the scope, types, accounts and spaces that it names."""
    for site in sites:
        ann, bob, news = site.ann["account_id"], site.bob["account_id"], "s" + NEWS.replace("-", "")
        new = {"create": {str(uuid.uuid4()): {"title": "x"}}}
        read, note = site.key("read", scope="read"), site.key("note", "--types", "note")
        one, space = site.key("one", "--accounts", ann), site.key("space", "--spaces", NEWS)
        refused = [
            (read, "list/set", ann, new, "accountReadOnly"), (note, "list/get", ann, {"ids": None}, "forbidden"),
            (one, "list/get", bob, {"ids": None}, "accountNotFound"),
            (one, "list/get", news, {"ids": None}, "accountNotFound"),
            (space, "list/get", ann, {"ids": None}, "accountNotFound")]
        for key, method, account, arguments, error in refused:
            assert site.jmap(key, method, account, **arguments)[1].get("type") == error, (method, error)
        assert site.jmap(note, "note/set", ann, create={"x": {"text": "hello"}})[1]["created"]
        shared = {"create": {str(uuid.uuid4()): {"title": "News", "space": NEWS}}}
        assert site.jmap(space, "list/set", news, **shared)[1]["created"]
        # A person who reads a public space sees the program's rows.
        seen = site.jmap(site.bob["access_token"], "list/get", news, ids=None)[1]["list"]
        assert [row["title"] for row in seen] == ["News"], seen


@claims
def typos(sites):
    """K1 A key with an unknown type or space, or with an empty list, is not made."""
    stray = str(uuid.uuid4())
    for site in sites:
        before = site.command("key", "list")
        for options, words in [
                (["--types", "nope"], ["nope", "list, note"]), (["--types", "note,nope,note"], ["type nope", "list, note"]),
                (["--types", ""], ["--types has an empty name"]), (["--types", "note,,list"], ["--types has an empty name"]),
                (["--accounts", ""], ["--accounts has an empty name"]), (["--spaces", ","], ["--spaces has an empty name"]),
                (["--spaces", stray], [f"no space {stray}", "optimist space list"])]:
            status, out, err = run("key", "create", "typo", "--scope", "read", *options, *site.place)
            assert status and not out and all(word in err for word in words), (options, out, err)
        assert site.command("key", "list") == before
        site.key("twice", "--types", "note,list,note")
        found = json.loads(site.command("key", "list", "--json"))["keys"]
        assert [key["types"] for key in found if key["name"] == "twice"] == [["note", "list"]], found


@claims
def types_of_stopped_data(sites):
    """K1 The command knows the types of a directory that no server uses."""
    with tempfile.TemporaryDirectory() as folder:
        site = Site(folder, "--data", f"{folder}/data")
        site.servers[0].terminate()
        status, _, err = run("key", "create", "typo", "--scope", "read", "--types", "nope", *site.place)
        assert status and "list, note" in err, err
        site.key("right", "--types", "note")


@claims
def conditions(sites):
    """With ifInState, a program does not overwrite an edit that it has not read."""
    for site in sites:
        key, ann, row = site.key("conditions"), site.ann["account_id"], str(uuid.uuid4())
        state = site.jmap(key, "list/set", ann, create={row: {"title": "one"}})[1]["newState"]
        assert site.jmap(site.ann["access_token"], "list/set", ann, update={row: {"title": "two"}})[1]["updated"]
        late = site.jmap(key, "list/set", ann, ifInState=state, update={row: {"title": "three"}})[1]
        assert late["type"] == "stateMismatch", late


@claims
def misuse(sites):
    """A key signs in nowhere, is refused from a page in a browser, and a wrong one opens nothing."""
    for site in sites:
        key = site.key("misuse")
        for method, path, body in [
                ("GET", "/auth/sessions", None), ("POST", "/auth/password", {"password": "x", "newPassword": "y"}),
                ("POST", "/auth/delete-account", {"password": "x"}), ("GET", "/jmap/eventsource", None),
                ("GET", "/account/deletion", None)]:
            assert ask(site.port, method, path, body, key)[0] == 401, path
        connection = http.client.HTTPConnection("127.0.0.1", site.port, timeout=60)
        connection.request("GET", "/service/accounts", headers={
            "Authorization": f"Bearer {key}", "Origin": "https://example.org"})
        answer = connection.getresponse()
        assert answer.status == 403 and "access-control" not in str(answer.headers).lower(), answer.headers
        assert ask(site.port, "GET", "/service/accounts", token=key[:-2] + "xx")[0] == 401
        assert ask(site.port, "GET", "/service/accounts", token=site.ann["access_token"])[0] == 403


@claims
def accounts(sites):
    """A program creates, disables, enables and deletes accounts."""
    for site in sites:
        key = site.key("accounts")
        entry = {"email": "bob@example.org", "password": "correct horse battery", "device": {"id": "d", "name": "d"}}
        path = f"/service/accounts/{site.bob['account_id']}"
        assert ask(site.port, "POST", f"{path}/disable", token=key)[1]["isDisabled"]
        assert ask(site.port, "GET", "/auth/sessions", token=site.bob["access_token"])[0] == 401
        # A busy machine hashes slowly.
        status, refusal = ask(site.port, "POST", "/auth/sign-in", entry, patience=PATIENCE)
        assert (status, refusal["reason"]) == (403, "account_disabled"), refusal
        assert ask(site.port, "POST", f"{path}/enable", token=key)[0] == 200
        assert ask(site.port, "POST", "/auth/sign-in", entry, patience=PATIENCE)[0] == 200
        status, made = ask(site.port, "POST", "/service/accounts", {"email": "carol@example.org"}, key)
        assert status == 201 and site.jmap(key, "note/set", made["id"], create={"x": {"text": "hi"}})[1]["created"]
        assert ask(site.port, "DELETE", f"/service/accounts/{made['id']}", token=key)[0] == 200
        assert site.jmap(key, "note/get", made["id"], ids=None)[1]["type"] == "accountNotFound"


@claims
def revoked(sites):
    """All servers of the data accept a key at once, and none of them accepts it after it is revoked."""
    for site in sites:
        key = site.key("revoked")
        assert [ask(port, "GET", "/service/accounts", token=key)[0] for port in site.ports] == [200] * len(site.ports)
        listed = site.command("key", "list")
        assert "revoked" in listed and key not in listed, listed
        site.command("key", "revoke", "revoked")
        assert [ask(port, "GET", "/service/accounts", token=key)[0] for port in site.ports] == [401] * len(site.ports)


@claims
def secrets(sites):
    """The servers' logs name the keys by their ids, and have the text of none."""
    for site in sites:
        key = site.key("secret")
        assert ask(site.port, "GET", "/auth/sessions", token=key)[0] == 401
        said = "".join(server.said for server in site.servers)
        assert "service_key_refused" in said and "optk_" not in said, said


@claims
def copied(sites):
    """Keys move to PostgreSQL with a copy of the data."""
    if len(sites) < 2:
        raise Skip("PostgreSQL is not installed")
    with tempfile.TemporaryDirectory() as folder, Postgres() as cluster:
        site = Site(folder, "--data", f"{folder}/data")
        key, secret = site.key("copied"), Path(folder, "data", "keys.json")
        site.servers[0].terminate()
        status, out, err = run("copy", "--from", f"{folder}/data", "--to", cluster.url)
        assert status == 0, (out, err)
        server = Program(
            "serve", "--port", "0", "--database", cluster.url, "--secret", secret, "--schema", f"{folder}/schema.json")
        try:
            port = urlsplit(server.find(r"serves (http://[^ ]+)")).port
            assert ask(port, "GET", "/service/accounts", token=key)[0] == 200
        finally:
            server.kill()


@claims
def answers(sites):
    """K1 Errors and trace logs never have a key's text, even if a program sends it in the wrong place."""
    for site in sites:
        key, ann = site.key("answers", scope="read"), site.ann["account_id"]
        assert site.jmap(key, "note/set", ann, create={"x": {"text": "no"}})[1]["type"] == "accountReadOnly"
        assert site.jmap(key, "note/get", key, ids=None)[1]["type"] == "accountNotFound"
        for head in {"Authorization": f"Basic {key}"}, {"Authorization": f"Bearer {key}x"}, {"X-Key": key}:
            connection = http.client.HTTPConnection("127.0.0.1", site.port, timeout=60)
            connection.request("GET", "/service/accounts", headers=head)
            answer = connection.getresponse()
            assert answer.status == 401, (head, answer.status)
            ERRORS.append(f"{answer.headers}{answer.read()}")
        for method, path, body in [
                ("POST", "/auth/sign-in", {"email": key, "password": key, "device": {"id": "d"}}),
                ("POST", "/service/accounts", {"email": key}), ("GET", f"/service/accounts?email={key}", None)]:
            assert ask(site.port, method, path, body, key, patience=PATIENCE)[0] < 500, path
        refresh = {"grant_type": "refresh_token", "refresh_token": key}
        assert ask(site.port, "POST", "/auth/token", form=refresh)[0] == 400
        said = "".join(server.said for server in site.servers)
        assert len(ERRORS) > 10 and len(site.keys) > 5 and " trace " in said
        for each in site.keys:
            assert each[5:] not in said, "a log has a key"
            assert not [error for error in ERRORS if each[5:] in error], "an error has a key"


@claims
def listed(sites):
    """K1 The operator's port lists each key with its name, rights and last use, and never its text."""
    for site in sites:
        key = site.key("listed", "--types", "note", scope="read")

        def shown(server):
            address = server.find(r"pages are at (http://[^ ]+)/admin")
            with urllib.request.urlopen(f"{address}/admin/api/keys", timeout=PATIENCE) as answer:
                text = answer.read().decode()
            assert key[5:] not in text and "optk_" not in text, text
            return next(each for each in json.loads(text)["keys"] if each["name"] == "listed")

        for server in site.servers:
            found = shown(server)
            assert found["scope"] == "read" and found["types"] == ["note"] and found["isValid"], found
            assert found["lastUsedAt"] is None, found
        assert site.jmap(key, "note/get", site.ann["account_id"], ids=None)[0] == 200
        for server in site.servers:
            eventually("its use is noted", lambda: shown(server)["lastUsedAt"])
        site.command("key", "revoke", "listed")
        assert not any(shown(server)["isValid"] for server in site.servers)


if __name__ == "__main__":
    with places() as found:
        claims.run(found)
