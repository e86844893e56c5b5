"""Makes a fresh `gpuaasd dev` ready for fuzzing, and prints what the passes need
as shell assignments: no rate limit is met, tokens outlive the run, and sessions
belong to people, because keys may not do everything."""

import json
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


def main(path):
    env = read_env(path)

    def call(verb, address, body, token=None, key=None):
        request = urllib.request.Request(env["GPUAAS_URL"] + address, json.dumps(body).encode(), method=verb)
        request.add_header("Content-Type", "application/json")
        if token:
            request.add_header("Authorization", f"Bearer {token}")
        if key:
            request.add_header("Idempotency-Key", key)
        with urllib.request.urlopen(request, timeout=30) as answer:
            return json.load(answer)

    def session(email, password):
        return call("POST", "/v1/sessions", {"email": email, "password": password})["access_token"]

    policies = {f"rate_limit.{lane}_per_minute": "10000000" for lane in LANES}
    policies |= {"identity.self_service": "true", "identity.access_token_seconds": "3600"}
    for key, value in policies.items():
        call("PUT", f"/v1/platform/policies/{key}", {"value": value}, env["GPUAAS_OPERATOR_TOKEN"])
    leaver = "leaver@demo.localhost"
    sign_up = {"email": leaver, "name": "Demo Leaver", "password": PASSWORD}
    # A policy applies a moment after it was set; a slow build makes it a longer one.
    for attempt in range(ATTEMPTS):
        try:
            call("POST", "/v1/users", sign_up)
            break
        except urllib.error.HTTPError as refused:
            if refused.code != 403 or attempt == ATTEMPTS - 1:
                raise
            time.sleep(0.2)
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


main(sys.argv[1])
