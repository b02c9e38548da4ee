# This source file is part of the Optimist open source project, under the MIT licence.
"""Requests drawn from /openapi.json: the server answers each as documented, never with a server error.

It starts servers with $OPTIMIST: one on a directory, and one on PostgreSQL for fewer requests. Schemathesis draws the
requests. A request with an identity token is sent again with an accepted token.
"""

import contextlib
import json
import pathlib
import sys
import tempfile
import time
import urllib.request
import uuid
from collections import Counter
from urllib.parse import urlsplit

import schemathesis
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

TESTS = pathlib.Path(__file__).resolve().parent.parent
sys.path[:0] = [str(TESTS), str(TESTS.parents[1] / "Scripts")]
from claims import Claims, Skip  # noqa: E402
from form import form  # noqa: E402
from identity import KEYS, issuer, public  # noqa: E402
from program import PATIENCE, Program, run  # noqa: E402
from testing import postgres  # noqa: E402
from writers import PASSWORD, enter  # noqa: E402

claims = Claims()
EXAMPLES = form(short=10, full=200, soak=2_000)
# For each operation on PostgreSQL.
EXAMPLES_SHARED = form(short=3, full=40, soak=400)
EXCHANGE, LINK = "post /auth/token", "post /auth/identities"
# Its answer is endless, so there is nothing to compare.
ENDLESS = "/jmap/eventsource"
# With a type that can be in spaces, so that invitations are looked up.
SCHEMA = {"id": "lists", "version": 1, "types": {
    "list": {"@space": {"column": "space"}, "title": {"type": "string"}, "space": {"type": "ref"}}}}


class Site:
    """A server. `place` are the options that name its data."""

    def __init__(self, folder, provider, *place):
        (folder / "schema.json").write_text(json.dumps(SCHEMA))
        (folder / "provider.json").write_text(json.dumps({"keys": [public(name) for name in KEYS]}))
        self.provider, self.examples, self.tokens = provider, EXAMPLES, 0
        # The answers to the requests of each operation by status, and the reasons in them.
        self.seen, self.reasons = Counter(), set()
        self.program = Program(
            "serve", "--port", "0", "--schema", folder / "schema.json", *place, "--app-id", "A1B2C3D4E5.org.example.app",
            "--identity-provider", f"oidc:{provider.address} audience=app keys={folder / 'provider.json'}")
        self.address = self.program.find(r"serves (http://[^ ]+)")
        self.document = json.loads(self.get("/openapi.json"))
        self.enter("sign-up")
        status, self.key, problem = run("key", "create", "openapi", "--scope", "write", *place)
        assert status == 0, problem

    def signed(self, body):
        """A drawn body with an accepted identity token and the user's password. None if the body is without a token."""
        names = [name for name in ("subject_token", "identityToken") if isinstance(body, dict) and name in body]
        if not names or not isinstance(body.get("nonce"), str | None):
            return None
        self.tokens += 1
        # Hypothesis repeats the random numbers of the issuer.
        token = self.provider.token(f"user {self.tokens}", nonce=body.get("nonce"), jti=uuid.uuid4().hex)
        return {**body, names[0]: token} | ({"confirmation": {"password": PASSWORD}} if "confirmation" in body else {})

    def enter(self, way):
        self.entered = time.monotonic()
        self.token = enter(urlsplit(self.address).port, way, "a@example.org", "e2e")["access_token"]

    def headers(self, sender):
        """The sender's headers. A token is valid for 15 minutes, and the requests may take longer."""
        if sender == "stranger":
            return {}
        if sender == "program":
            return {"Authorization": f"Bearer {self.key.strip()}"}
        if time.monotonic() - self.entered > 300:
            self.enter("sign-in")
        return {"Authorization": f"Bearer {self.token}"}

    def note(self, operation, answer):
        self.seen[operation, answer.status_code] += 1
        with contextlib.suppress(ValueError, AttributeError):
            self.reasons.add(json.loads(answer.text).get("reason"))

    def get(self, path):
        with urllib.request.urlopen(f"{self.address}{path}", timeout=PATIENCE) as answer:
            return answer.read()


def problem(document, operation, status, type, body):
    """The fault of an answer as a sentence, or None."""
    answers = operation["responses"]
    if status >= 500 and status != 503:
        return f"{status}: {body[:200]}"
    if str(status) not in answers:
        return f"{status} is not in the document: {body[:200]}"
    answer = answers[str(status)]
    if name := answer.get("$ref", "").removeprefix("#/components/responses/"):
        answer = document["components"]["responses"][name]
    content = answer.get("content", {})
    if body and content and type.split(";")[0] not in content:
        return f"{status} has the type {type}, not one of {sorted(content)}"
    return None


def draw(site, sender):
    """Sends Schemathesis's requests for each operation. Returns the faults, the number of answers with each status, and
    the operations."""
    schema = schemathesis.openapi.from_dict(site.document)
    wrong, statuses, operations = [], {}, set()
    for result in schema.get_all_operations():
        operation = result.ok()
        if operation.path == ENDLESS:
            continue
        described = site.document["paths"][operation.path][operation.method]
        if sender == "program" and {"serviceKey": []} not in described.get("security", []):
            continue
        operations.add(f"{operation.method} {operation.path}")

        def send(case):
            check(case)
            if (body := site.signed(case.body)) is not None:
                case.body = body
                check(case)

        def check(case):
            answer = case.call(base_url=site.address, headers=site.headers(sender), timeout=PATIENCE)
            statuses[answer.status_code] = statuses.get(answer.status_code, 0) + 1
            site.note(f"{operation.method} {operation.path}", answer)
            kind = answer.headers.get("content-type", [""])[0]
            found = problem(site.document, described, answer.status_code, kind, answer.text)
            assert found is None, f"{operation.method} {operation.path}: {found}\n{case.as_curl_command()[:1000]}"

        modes = st.one_of(*(
            operation.as_strategy(generation_mode=mode) for mode in schemathesis.GenerationMode))
        test = seed(1)(settings(
            max_examples=site.examples, deadline=None, database=None, phases=[Phase.generate, Phase.shrink],
            suppress_health_check=list(HealthCheck))(given(case=modes)(send)))
        try:
            test()
        except Exception as error:  # The other operations are still tried.
            wrong.append(str(error))
    return wrong, statuses, operations


@claims
def users(sites):
    """With a token, no request drawn from the document gets a server error or an undocumented status."""
    wrong, statuses, operations = draw(sites[0], "user")
    assert {"post /spaces/invitation", "get /join", "get /account/deletion"} <= operations, operations
    print(f"      {sum(statuses.values())} answers: {dict(sorted(statuses.items()))}", flush=True)
    assert not wrong, "\n\n".join(wrong)
    assert statuses.get(200) and statuses.get(400), "hardly anything was tried"


@claims
def strangers(sites):
    """Without a token, the same holds."""
    wrong, statuses, _ = draw(sites[0], "stranger")
    print(f"      {sum(statuses.values())} answers: {dict(sorted(statuses.items()))}", flush=True)
    assert not wrong, "\n\n".join(wrong)
    assert statuses.get(401), "hardly anything was tried"


@claims
def programs(sites):
    """With a service key, the same holds for the routes of programs."""
    wrong, statuses, operations = draw(sites[0], "program")
    print(f"      {sum(statuses.values())} answers: {dict(sorted(statuses.items()))}", flush=True)
    assert not wrong, "\n\n".join(wrong)
    assert statuses.get(200) and len(operations) >= 8, operations


@claims
def shared(sites):
    """On PostgreSQL the same holds for users, strangers and programs."""
    if len(sites) < 2:
        raise Skip("PostgreSQL is not installed")
    for sender in "user", "stranger", "program":
        wrong, statuses, _ = draw(sites[1], sender)
        print(f"      {sum(statuses.values())} answers: {dict(sorted(statuses.items()))}", flush=True)
        assert not wrong, "\n\n".join(wrong)


@claims
def identities(sites):
    """Some of these requests signed in with an identity token, and some added an identity to the account."""
    for site in sites:
        assert site.seen[EXCHANGE, 200] and site.seen[LINK, 201], site.seen
        assert {"token_malformed"} <= site.reasons and "identities_off" not in site.reasons, site.reasons


@claims
def alive(sites):
    """The servers are up afterwards."""
    for site in sites:
        assert site.program.is_running and json.loads(site.get("/healthz")) == {"status": "ok"}


@contextlib.contextmanager
def places():
    with contextlib.ExitStack() as stack:
        folder = pathlib.Path(stack.enter_context(tempfile.TemporaryDirectory()))
        provider = stack.enter_context(issuer())
        sites = [Site(folder, provider, "--data", folder / "server")]
        stack.callback(sites[0].program.kill)
        if postgres.programs():
            cluster = stack.enter_context(postgres.Postgres())
            (folder / "secret").write_text(run("secret")[1])
            sites.append(Site(folder, provider, "--database", cluster.url, "--secret", folder / "secret"))
            stack.callback(sites[1].program.kill)
            sites[1].examples = EXAMPLES_SHARED
        yield sites


if __name__ == "__main__":
    with places() as found:
        claims.run(found)
