"""Makes a fresh `gpuaasd dev` ready for fuzzing, and prints what the passes need
as shell assignments: no rate limit is met, tokens outlive the run, and sessions
belong to people, because keys may not do everything.

  prepare.py DEV_ENV            once, before the passes
  prepare.py DEV_ENV policies   again after a pass that set or unset policies
"""

import json
import pathlib
import quopri
import re
import sys
import time
import urllib.error
import urllib.request

LANES = ["address", "default", "financial", "admin", "login", "terminal", "launch", "node"]
ATTEMPTS = 50
PASSWORD = "correct horse battery"  # secret-scan: allow


def read_env(path):
    with open(path, encoding="utf-8") as lines:
        words = (line.removeprefix("export ").strip() for line in lines)
        return dict(word.split("=", 1) for word in words if word)


def caller(env):
    def call(verb, address, body=None, token=None, key=None):
        content = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(env["GPUAAS_URL"] + address, content, method=verb)
        request.add_header("Content-Type", "application/json")
        if token:
            request.add_header("Authorization", f"Bearer {token}")
        if key:
            request.add_header("Idempotency-Key", key)
        with urllib.request.urlopen(request, timeout=30) as answer:
            return json.load(answer)

    return call


def until(accepted, status):
    """Tries again while that status is the answer: a policy applies a moment
    after it was set, and a slow build makes it a longer one."""
    for attempt in range(ATTEMPTS):
        try:
            return accepted()
        except urllib.error.HTTPError as refused:
            if refused.code != status or attempt == ATTEMPTS - 1:
                raise
            time.sleep(float(refused.headers.get("Retry-After", 0.2)))


def lay_policies(env):
    """Sets what the passes need and unsets everything else on the platform."""
    call, token = caller(env), env["GPUAAS_OPERATOR_TOKEN"]
    wanted = {f"rate_limit.{lane}_per_minute": "10000000" for lane in LANES}
    wanted |= {"identity.self_service": "true", "identity.access_token_seconds": "3600"}
    for key, value in wanted.items():
        until(lambda: call("PUT", f"/v1/platform/policies/{key}", {"value": value}, token), 429)
    found = until(lambda: call("GET", "/v1/platform/policies?set_here=true&limit=200", token=token), 429)
    for key in (it["key"] for it in found["items"] if it["key"] not in wanted):
        until(lambda: call("DELETE", f"/v1/platform/policies/{key}", token=token), 429)


def mailed_token(folder):
    """The token of the newest mail that has one; mails are written a moment after they are asked for."""
    for _ in range(ATTEMPTS):
        for mail in sorted(folder.glob("*"), key=lambda it: it.stat().st_mtime, reverse=True):
            token = re.search(r"gpm_[\w-]+", quopri.decodestring(mail.read_bytes()).decode(errors="replace"))
            if token:
                return token.group()
        time.sleep(0.2)
    sys.exit(f"no mail with a token was written to {folder}")


def main(path):
    env = read_env(path)
    call = caller(env)

    def session(email, password):
        return call("POST", "/v1/sessions", {"email": email, "password": password})["access_token"]

    lay_policies(env)
    leaver = "leaver@demo.localhost"
    until(lambda: call("POST", "/v1/users", {"email": leaver}), 403)
    token = mailed_token(pathlib.Path(path).parent / "mails")
    call("POST", "/v1/users/confirm", {"token": token, "name": "Demo Leaver", "password": PASSWORD})
    found = {
        "owner": session("owner@demo.localhost", env["GPUAAS_OWNER_PASSWORD"]),
        "operator": session("operator@demo.localhost", env["GPUAAS_OPERATOR_PASSWORD"]),
        "leaver": session(leaver, PASSWORD),
        "url": env["GPUAAS_URL"],
        "organization": env["GPUAAS_ORGANIZATION"],
        "project": env["GPUAAS_PROJECT"],
    }
    spare = call("POST", "/v1/organizations", {"name": "Spare"}, found["owner"], "spare-organization")["id"]
    address = f"/v1/organizations/{spare}/projects"
    found["spare"] = spare
    found["spare_project"] = call("POST", address, {"name": "spare"}, found["owner"], "spare-project")["id"]
    for name, value in found.items():
        print(f"{name}={value}")


if sys.argv[2:] == ["policies"]:
    lay_policies(read_env(sys.argv[1]))
else:
    main(sys.argv[1])
