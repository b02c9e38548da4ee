# This source file is part of the Optimist open source project, under the MIT licence.
"""Requests drawn from /openapi.json: the server answers each as documented, never with a server error.

It starts a server with $OPTIMIST. Schemathesis draws the requests.
"""

import json
import pathlib
import sys
import tempfile
import time
import urllib.request
from urllib.parse import urlsplit

import schemathesis
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from claims import Claims  # noqa: E402
from form import form  # noqa: E402
from program import PATIENCE, Program, run  # noqa: E402
from writers import enter  # noqa: E402

claims = Claims()
EXAMPLES = form(short=10, full=200, soak=2_000)
# Its answer is endless, so there is nothing to compare.
ENDLESS = "/jmap/eventsource"
# With a type that can be in spaces, so that invitations are looked up.
SCHEMA = {"id": "lists", "version": 1, "types": {
    "list": {"@space": {"column": "space"}, "title": {"type": "string"}, "space": {"type": "ref"}}}}


class Site:
    def __init__(self, folder):
        schema = folder.parent / "schema.json"
        schema.write_text(json.dumps(SCHEMA))
        self.program = Program("serve", "--port", "0", "--data", folder, "--schema", schema)
        self.address = self.program.find(r"serves (http://[^ ]+)")
        self.document = json.loads(self.get("/openapi.json"))
        self.enter("sign-up")
        status, self.key, problem = run("key", "create", "openapi", "--scope", "write", "--data", folder)
        assert status == 0, problem

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
            answer = case.call(base_url=site.address, headers=site.headers(sender), timeout=PATIENCE)
            statuses[answer.status_code] = statuses.get(answer.status_code, 0) + 1
            found = problem(site.document, described, answer.status_code, answer.headers.get("content-type", [""])[0], answer.text)
            assert found is None, f"{operation.method} {operation.path}: {found}\n{case.as_curl_command()[:1000]}"

        modes = st.one_of(*(
            operation.as_strategy(generation_mode=mode) for mode in schemathesis.GenerationMode))
        test = seed(1)(settings(
            max_examples=EXAMPLES, deadline=None, database=None, phases=[Phase.generate, Phase.shrink],
            suppress_health_check=list(HealthCheck))(given(case=modes)(send)))
        try:
            test()
        except Exception as error:  # The other operations are still tried.
            wrong.append(str(error))
    return wrong, statuses, operations


@claims
def users(site):
    """With a token, no request drawn from the document gets a server error or an undocumented status."""
    wrong, statuses, operations = draw(site, "user")
    assert {"post /spaces/invitation", "get /account/deletion"} <= operations, operations
    print(f"      {sum(statuses.values())} answers: {dict(sorted(statuses.items()))}", flush=True)
    assert not wrong, "\n\n".join(wrong)
    assert statuses.get(200) and statuses.get(400), "hardly anything was tried"


@claims
def strangers(site):
    """Without a token, the same holds."""
    wrong, statuses, _ = draw(site, "stranger")
    print(f"      {sum(statuses.values())} answers: {dict(sorted(statuses.items()))}", flush=True)
    assert not wrong, "\n\n".join(wrong)
    assert statuses.get(401), "hardly anything was tried"


@claims
def programs(site):
    """With a service key, the same holds for the routes of programs."""
    wrong, statuses, operations = draw(site, "program")
    print(f"      {sum(statuses.values())} answers: {dict(sorted(statuses.items()))}", flush=True)
    assert not wrong, "\n\n".join(wrong)
    assert statuses.get(200) and len(operations) >= 8, operations


@claims
def alive(site):
    """The server is up afterwards."""
    assert site.program.is_running and json.loads(site.get("/healthz")) == {"status": "ok"}


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        site = Site(pathlib.Path(folder) / "server")
        try:
            claims.run(site)
        finally:
            site.program.kill()
