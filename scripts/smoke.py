"""The smoke test of this release: a person signs in, makes an organization and a
project, reads, renames and deletes it, and the audit log verifies.

    GPUAAS_SMOKE_EMAIL=… GPUAAS_SMOKE_PASSWORD=… python3 scripts/smoke.py http://127.0.0.1:8080

The account must be an operator. The next release runs this script of ours, with
our server, on its own schema."""

import json
import os
import sys
import time
import urllib.error
import urllib.request
import uuid

PATIENCE_S = 60


class Api:
    def __init__(self, base):
        self.base = base
        self.token = None

    def send(self, verb, address, body=None):
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.base + address, data, method=verb)
        request.add_header("Content-Type", "application/json")
        request.add_header("Idempotency-Key", uuid.uuid4().hex)
        if self.token:
            request.add_header("Authorization", f"Bearer {self.token}")
        try:
            with urllib.request.urlopen(request, timeout=30) as answer:
                return answer.status, json.load(answer)
        except urllib.error.HTTPError as refused:
            return refused.code, json.load(refused)

    def call(self, verb, address, body=None):
        status, answer = self.send(verb, address, body)
        if status >= 300:
            sys.exit(f"smoke: {verb} {address} answered {status}: {answer}")
        return answer


def wait_for(what, ask):
    started = time.monotonic()
    while time.monotonic() - started < PATIENCE_S:
        try:
            if ask():
                return
        except OSError:
            pass
        time.sleep(0.1)
    sys.exit(f"smoke: waited {PATIENCE_S} s for {what}")


def verify(api):
    after = 0
    while after is not None:
        report = api.call("GET", f"/v1/platform/audit/verify?after={after}")
        if report["findings"]:
            sys.exit(f"smoke: the audit log does not verify: {report['findings']}")
        after, unsealed = report["next_after"], report["unsealed"]
    return unsealed


def main(base):
    api = Api(base)
    wait_for("the server to be ready", lambda: api.send("GET", "/readyz")[0] == 200)
    credentials = {"email": os.environ["GPUAAS_SMOKE_EMAIL"], "password": os.environ["GPUAAS_SMOKE_PASSWORD"]}
    api.token = api.call("POST", "/v1/sessions", credentials)["access_token"]
    api.call("PUT", "/v1/platform/policies/identity.self_service", {"value": "true"})
    organization = api.call("POST", "/v1/organizations", {"name": f"Smoke {uuid.uuid4().hex[:8]}"})["id"]
    project = api.call("POST", f"/v1/organizations/{organization}/projects", {"name": "smoke"})["id"]
    address = f"/v1/projects/{project}"
    api.call("PATCH", address, {"name": "renamed"})
    if api.call("GET", address)["name"] != "renamed":
        sys.exit("smoke: a renamed project kept its name")
    api.call("DELETE", address)
    wait_for("the project to be gone", lambda: gone(api, address))
    wait_for("the audit log to be sealed", lambda: verify(api) == 0)
    print(f"smoke: passed against {base}")


def gone(api, address):
    status, answer = api.send("GET", address)
    return status == 404 or answer.get("state") == "deleted"


main(sys.argv[1])
