# This source file is part of the Optimist open source project, under the MIT licence.
"""Signing in with identity tokens that PyJWT, Authlib and joserfc make, and the settings for it.

The libraries are also the oracle: the server takes a token if and only if they do."""

import base64
import hashlib
import http.server
import json
import random
import re
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
from contextlib import contextmanager
from pathlib import Path

import jwt
from authlib.jose import JsonWebToken
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from joserfc import jwk as joserfc_jwk
from joserfc import jwt as joserfc_jwt

sys.path.insert(0, str(Path(__file__).parents[1]))
from claims import Claims  # noqa: E402
from guides import DOCUMENTATION  # noqa: E402
from program import PATIENCE, Program, run  # noqa: E402

claims = Claims()
SECRET = "a shared secret of more than thirty-two bytes"
KEYS = {
    "RS256": rsa.generate_private_key(65537, 2048), "PS256": rsa.generate_private_key(65537, 2048),
    "ES256": ec.generate_private_key(ec.SECP256R1()), "EdDSA": ed25519.Ed25519PrivateKey.generate(),
}
PEM = {
    name: key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()).decode()
    for name, key in KEYS.items()
}


def public(name):
    """A key's public part as a JWK."""
    text = jwt.algorithms.get_default_algorithms()[name].to_jwk(KEYS[name].public_key())
    key = text if isinstance(text, dict) else json.loads(text)
    return {**{k: v for k, v in key.items() if k != "key_ops"}, "kid": f"key-{name}", "alg": name, "use": "sig"}


def by_pyjwt(header, content, key):
    return jwt.encode(content, key, header["alg"], headers=header)


def by_authlib(header, content, key):
    return JsonWebToken([header["alg"]]).encode(header, content, key).decode()


def by_joserfc(header, content, key):
    kind = {"H": "oct", "R": "RSA", "P": "RSA"}.get(header["alg"][0], "EC" if header["alg"] == "ES256" else "OKP")
    return joserfc_jwt.encode(header, content, joserfc_jwk.import_key(key, kind), algorithms=[header["alg"]])


LIBRARIES = [by_pyjwt, by_authlib, by_joserfc]


class Issuer:
    """A provider on this machine."""

    def __init__(self):
        self.asked, self.is_redirecting = [], False
        issuer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                issuer.asked.append(self.path)
                if issuer.is_redirecting and self.path == "/keys":
                    self.send_response(302)
                    self.send_header("Location", issuer.address + "/elsewhere")
                    self.send_header("Content-Length", "0")
                    return self.end_headers()
                metadata = {"issuer": issuer.address, "jwks_uri": issuer.address + "/keys"}
                body = json.dumps({"keys": [public(name) for name in KEYS]} if self.path in ("/keys", "/elsewhere") else metadata)
                self.send_response(200)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body.encode())

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.address = f"http://127.0.0.1:{self.server.server_address[1]}"
        self.thread = threading.Thread(target=self.server.serve_forever, daemon=True)
        self.thread.start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()

    def content(self, subject="ann", **more):
        now = int(time.time())
        content = {
            "iss": self.address, "sub": subject, "aud": "app", "iat": now, "exp": now + 600,
            "jti": str(random.getrandbits(64)), **more}
        return {name: value for name, value in content.items() if value is not None}

    def token(self, subject="ann", algorithm="ES256", library=by_pyjwt, **more):
        header = {"alg": algorithm, "kid": f"key-{algorithm}", "typ": "JWT"}
        return library(header, self.content(subject, **more), PEM[algorithm])


@contextmanager
def issuer():
    provider = Issuer()
    try:
        yield provider
    finally:
        provider.close()


def ask(address, path, body, token=None, kind="application/json", method=None):
    data = urllib.parse.urlencode(body).encode() if kind.endswith("form-urlencoded") else json.dumps(body).encode()
    headers = {"Content-Type": kind} | ({"Authorization": f"Bearer {token}"} if token else {})
    request = urllib.request.Request(address + path, None if body is None else data, headers, method=method)
    try:
        with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as refusal:
        return refusal.code, json.load(refusal)


def exchange(address, token, device="phone", **more):
    return ask(address, "/auth/token", {
        "grant_type": "urn:ietf:params:oauth:grant-type:token-exchange", "subject_token": token,
        "subject_token_type": "urn:ietf:params:oauth:token-type:id_token", "device_id": device, **more,
    }, kind="application/x-www-form-urlencoded")


def serve(folder, *options):
    program = Program("serve", "--port", "0", "--data", Path(tempfile.mkdtemp(dir=folder)) / "data", *options)
    return program, program.find(r"Optimist serves (http://127\.0\.0\.1:\d+)")


@claims
def libraries(folder):
    """I1 I5 tokens of three libraries, in each algorithm, sign their users in, each to the user's one account."""
    secret = folder / "secret"
    secret.write_text(SECRET + "\n")
    with issuer() as provider:
        program, address = serve(
            folder, "--identity-provider", f"oidc:{provider.address} audience=app", "--identity-provider",
            f"supabase:https://abc.supabase.co secret={secret}", "--log-level", "trace")
        with program:
            accounts, tokens = set(), []
            for algorithm in KEYS:
                for library in LIBRARIES:
                    tokens.append(provider.token(algorithm=algorithm, library=library))
                    status, answer = exchange(address, tokens[-1], device=f"{algorithm} {library.__name__}")
                    assert status == 200, (algorithm, library, answer)
                    accounts.add(answer["account_id"])
            assert len(accounts) == 1, accounts
            for library in LIBRARIES:
                content = provider.content(iss="https://abc.supabase.co/auth/v1", aud="authenticated")
                tokens.append(library({"alg": "HS256", "typ": "JWT"}, content, SECRET))
                status, answer = exchange(address, tokens[-1])
                assert status == 200 and answer["account_id"] not in accounts, answer
            assert provider.asked == ["/.well-known/openid-configuration", "/keys"], provider.asked
            said = program.said
    assert not any(token.split(".")[1] in said for token in tokens) and SECRET not in said


# The issuer and the audience in real tokens of the providers in Documentation/BringYourUsers.md, in its order.
REAL = {
    "apple": ("https://appleid.apple.com", "org.example.app"),
    "google": ("https://accounts.google.com", "1234-abc.apps.googleusercontent.com"),
    "firebase": ("https://securetoken.google.com/your-project", "your-project"),
    "supabase": ("https://abc.supabase.co/auth/v1", "authenticated"),
    "oidc": ("https://login.example.org/realms/main", "app"),
}


@claims
def guide(folder):
    """I2 I8 with each option of the guide, the server takes tokens for the app, and refuses tokens for another."""
    page = (DOCUMENTATION / "BringYourUsers.md").read_text()
    options = re.findall(r'^--identity-provider "([^"]+)"$', page, re.MULTILINE)
    assert [re.match(r"\w+", option)[0] for option in options] == list(REAL), options
    keys = folder / "keys.json"
    keys.write_text(json.dumps({"keys": [public("RS256")]}))
    given = [word for option in options for word in ("--identity-provider", f"{option} keys={keys}")]
    program, address = serve(folder, *given, "--sign-in", "identity")
    with issuer() as provider, program:
        accounts, nonce = set(), "a nonce of the app"
        hashed = hashlib.sha256(nonce.encode()).hexdigest()
        for name, (iss, aud) in REAL.items():
            # The guide passes a nonce for Apple, whose tokens have its hash.
            inside, outside = ({"nonce": hashed}, {"nonce": nonce}) if name == "apple" else ({}, {})
            for wrong, reason in [
                    ({"aud": "org.example.other"}, "token_audience"), ({"iss": f"{iss}/"}, "token_issuer")]:
                token = provider.token(algorithm="RS256", **{"iss": iss, "aud": aud, **inside, **wrong})
                status, answer = exchange(address, token, **outside)
                assert (status, answer.get("reason")) == (400, reason), (name, answer)
            token = provider.token(algorithm="RS256", iss=iss, aud=aud, **inside)
            status, answer = exchange(address, token, **outside)
            assert status == 200, (name, answer)
            accounts.add(answer["account_id"])
        assert len(accounts) == len(REAL) and not provider.asked, (accounts, provider.asked)


@claims
def life(folder):
    """I6 I7 a user signs in on two devices, adds a second provider, and deletes the account with a fresh token."""
    with issuer() as first, issuer() as second:
        program, address = serve(
            folder, "--identity-provider", f"oidc:{first.address} audience=app name=first join-by-email", "--identity-provider",
            f"oidc:{second.address} audience=app name=second", "--sign-in", "identity")
        with program:
            phone = exchange(address, first.token(email="ann@example.org", email_verified=True))[1]
            tablet = exchange(address, first.token(), device="tablet")[1]
            assert phone["account_id"] == tablet["account_id"] and phone["email"] == "ann@example.org", phone
            status, answer = exchange(address, second.token(email="ann@example.org", email_verified=True))
            assert (status, answer["reason"]) == (400, "account_exists"), answer
            body = {"identityToken": second.token()}
            assert ask(address, "/auth/identities", body, tablet["access_token"])[0] == 400
            body["confirmation"] = {"identityToken": first.token()}
            assert ask(address, "/auth/identities", body, tablet["access_token"])[0] == 201
            assert exchange(address, second.token())[1]["account_id"] == phone["account_id"]
            _, found = ask(address, "/auth/identities", None, tablet["access_token"])
            assert [entry["provider"] for entry in found["identities"]] == ["first", "second"] and not found["hasPassword"]
            status, answer = ask(
                address, "/auth/sign-in",
                {"email": "ann@example.org", "password": "correct horse", "device": {"id": "x", "name": ""}})
            assert (status, answer["reason"]) == (403, "passwords_off"), answer
            stale = first.token(auth_time=int(time.time()) - 400)
            body = {"identityToken": stale}
            assert ask(address, "/auth/delete-account", body, tablet["access_token"])[1]["reason"] == "token_stale"
            body = {"identityToken": second.token()}
            assert ask(address, "/auth/delete-account", body, tablet["access_token"]) == (200, {})
            assert ask(address, "/auth/identities", None, tablet["access_token"])[1]["reason"] == "account_deleted"
            assert exchange(address, first.token())[1]["account_id"] != phone["account_id"]


def opinions(token, provider):
    """Whether PyJWT and joserfc accept a token, with the settings of the server."""
    def pyjwt():
        header = jwt.get_unverified_header(token)
        name = next(name for name in KEYS if f"key-{name}" == header["kid"])
        jwt.decode(
            token, KEYS[name].public_key(), [name], audience="app", issuer=provider.address, leeway=60,
            options={"require": ["exp", "iat", "sub", "aud", "iss"]})

    def joserfc():
        header = jwt.get_unverified_header(token)
        name = next(name for name in KEYS if f"key-{name}" == header["kid"])
        key = joserfc_jwk.import_key(public(name))
        found = joserfc_jwt.decode(token, key, algorithms=[name])
        registry = joserfc_jwt.JWTClaimsRegistry(
            leeway=60, iss={"essential": True, "value": provider.address}, aud={"essential": True, "value": "app"},
            exp={"essential": True}, iat={"essential": True}, sub={"essential": True})
        registry.validate(found.claims)

    found = []
    for decide in pyjwt, joserfc:
        try:
            decide()
            found.append(True)
        except Exception:
            found.append(False)
    return found


def variant(provider, chance):
    """A token that is right or wrong in one place or two, by chance."""
    now = int(time.time())
    algorithm = chance.choice(list(KEYS))
    changes = [
        *[{}] * 20, {"aud": "other"}, {"aud": ["app"]}, {"aud": []}, {"iss": "https://evil.example"},
        {"iss": provider.address + "/"}, {"exp": now - 30}, {"exp": now - 90}, {"exp": None}, {"nbf": now + 30},
        {"nbf": now + 90}, {"iat": now + 30}, {"iat": now + 90}, {"iat": None}, {"sub": None}, {"more": "é"}]
    content = provider.content(**{**chance.choice(changes), **chance.choice(changes)})
    signer = chance.choice([algorithm] * 20 + list(KEYS))
    named = chance.choice([algorithm] * 20 + list(KEYS))
    header = {"alg": signer, "kid": f"key-{named}", "typ": "JWT"}
    text = chance.choice(LIBRARIES)(header, content, PEM[signer])
    parts = text.split(".")
    damage = chance.randrange(20)
    if damage == 0:
        signature = bytearray(base64.urlsafe_b64decode(parts[2] + "=="))
        signature[chance.randrange(len(signature))] ^= 1 << chance.randrange(8)
        parts[2] = base64.urlsafe_b64encode(signature).rstrip(b"=").decode()
    if damage == 1:
        parts[1] = base64.urlsafe_b64encode(json.dumps({**content, "sub": "eve"}).encode()).rstrip(b"=").decode()
    if damage == 2:
        parts[0] = base64.urlsafe_b64encode(json.dumps({**header, "alg": "none"}).encode()).rstrip(b"=").decode()
    return ".".join(parts)


@claims
def oracle(folder):
    """I2 the server takes a token if and only if both PyJWT and joserfc do."""
    chance, decided = random.Random(1), {True: 0, False: 0}
    with issuer() as provider:
        program, address = serve(
            folder, "--identity-provider", f"oidc:{provider.address} audience=app", "--behind-proxy")
        with program:
            for number in range(400):
                token = variant(provider, chance)
                expected = opinions(token, provider)
                request = urllib.request.Request(
                    address + "/auth/token", urllib.parse.urlencode({
                        "grant_type": "urn:ietf:params:oauth:grant-type:token-exchange", "subject_token": token,
                        "subject_token_type": "urn:ietf:params:oauth:token-type:id_token", "device_id": "phone",
                    }).encode(), {"X-Forwarded-For": f"10.0.{number // 250}.{number % 250}"})
                try:
                    urllib.request.urlopen(request, timeout=PATIENCE).close()
                    taken, reason = True, None
                except urllib.error.HTTPError as refusal:
                    taken, reason = False, json.load(refusal).get("reason")
                assert taken == all(expected), (token, taken, reason, expected)
                assert taken or reason and reason.startswith("token_"), (token, reason)
                decided[taken] += 1
    assert min(decided.values()) > 40, decided


@claims
def redirects(folder):
    """I4 the server follows no redirect to keys elsewhere."""
    with issuer() as provider:
        provider.is_redirecting = True
        program, address = serve(folder, "--identity-provider", f"oidc:{provider.address} audience=app")
        with program:
            status, answer = exchange(address, provider.token())
            assert (status, answer["reason"]) == (503, "keys_unavailable"), answer
            assert "/elsewhere" not in provider.asked, provider.asked


@claims
def settings(folder):
    """I8 providers come from flags, the environment or a file, and printed settings leave out secrets."""
    secret = folder / "secret"
    secret.write_text(SECRET)
    file = folder / "settings.json"
    apple = "apple audience=org.example.app audience=org.example.web join-by-email"
    other = f"supabase:https://abc.supabase.co secret={secret}"
    file.write_text(json.dumps({"identity-provider": [apple, other], "sign-in": "identity"}))
    for arguments, environment in (
            (["--config", file], {}), (["--sign-in", "identity"], {"OPTIMIST_IDENTITY_PROVIDER": f"{apple},{other}"}),
            (["--identity-provider", apple, "--identity-provider", other, "--sign-in", "identity"], {})):
        status, said, problem = run("serve", "--print-configuration", *arguments, environment=environment)
        assert status == 0, problem
        lines = {line.split()[0]: line for line in said.splitlines()}
        assert f"{apple},{other}" in lines["identity-provider"] and "identity" in lines["sign-in"], lines
        assert SECRET not in said
    for text, words in {
            "appel": "must begin with apple", "apple": "needs audience=ID", "apple audience=a algorithm=none": "one of",
            "oidc:https://a.example audience=a nonce=x": "one of", "google audience=a colour=red": "has an unknown setting",
            "supabase:abc": "needs the URL",
            f"apple audience=a secret={secret}": "Remove secret", f"google audience=a secret={secret}": "Remove secret",
            f"firebase:demo secret={secret}": "Remove secret",
            f"oidc:https://appleid.apple.com audience=a secret={secret}": "Remove secret",
            f"supabase:https://a.example secret={folder}/missing": "cannot be read"}.items():
        status, _, problem = run("serve", "--print-configuration", "--identity-provider", text)
        assert status != 0 and words in problem, (text, problem)
    for text in (f"secret={SECRET}", f"secret={secret} secret={SECRET}", f"secret={SECRET} colour=red"):
        status, said, problem = run(
            "serve", "--print-configuration", "--identity-provider", f"supabase:https://a.example {text}")
        assert status != 0 and SECRET not in said + problem, (text, problem)
    status, said, problem = run(
        "serve", "--print-configuration", "--identity-provider", "google audience=a keys=https://a.example/k?token=hidden")
    assert status == 0 and "keys=https://a.example/k" in said and "hidden" not in said + problem, said + problem
    for text, words in {
            "oidc:http://a.example audience=a": "https",
            f"oidc:https://a.example audience=a keys=file://{folder}/missing": "cannot be read",
            "firebase:demo algorithm=HS256": "HS256 needs a secret"}.items():
        status, _, problem = run("serve", "--port", "0", "--data", folder / "data", "--identity-provider", text)
        assert status != 0 and words in problem, (text, problem)
    status, _, problem = run("serve", "--port", "0", "--data", folder / "data", "--sign-in", "identity")
    assert status != 0 and "identity provider" in problem, problem


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        claims.run(Path(folder))
