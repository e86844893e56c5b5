"""A real server for the tests: `gpuaasd dev` on a free port, with data of its own."""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import gpuaas
from proxy import Proxy

ROOT = Path(__file__).resolve().parents[3]
READY_WITHIN_S = 60
LANES = ["address", "default", "financial", "admin", "login", "terminal", "launch", "node"]


class Server:
    """A running server and what it wrote into `dev.env`."""

    def __init__(self, env: dict[str, str]) -> None:
        self.env = env
        self.url = env["GPUAAS_URL"]
        self.organization = env["GPUAAS_ORGANIZATION"]
        self.project = env["GPUAAS_PROJECT"]

    def client(self, **changes: str) -> gpuaas.Client:
        return gpuaas.Client(**{**self._given(), **changes})  # type: ignore[arg-type]

    def async_client(self, **changes: str) -> gpuaas.AsyncClient:
        return gpuaas.AsyncClient(**{**self._given(), **changes})  # type: ignore[arg-type]

    def operator(self) -> gpuaas.Client:
        return self.client(token=self.env["GPUAAS_OPERATOR_TOKEN"])

    def _given(self) -> dict[str, str]:
        names = {"url": "URL", "token": "TOKEN", "organization": "ORGANIZATION", "project": "PROJECT"}
        return {name: self.env[f"GPUAAS_{it}"] for name, it in names.items()}


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    binary = Path(os.environ.get("GPUAAS_GPUAASD", ROOT / "target/debug/gpuaasd"))
    if not binary.exists():
        pytest.exit(f"{binary} is missing; run `cargo build --workspace`", returncode=1)
    with tempfile.TemporaryDirectory(prefix="gpuaas-sdk-") as folder:
        # The account that runs the private PostgreSQL must get through.
        os.chmod(folder, 0o711)
        data, log = Path(folder, "data"), Path(folder, "log")
        command = [str(binary), "dev", "--data-dir", str(data), "--listen", "127.0.0.1:0"]
        with log.open("w") as output:
            process = subprocess.Popen(
                command, stdout=output, stderr=output, env={**os.environ, "GPUAAS_LOG": "error"}
            )
        try:
            _await_ready(process, log)
            found = Server(_read_env(data / "dev.env"))
            _lift_limits(found)
            yield found
        finally:
            process.send_signal(signal.SIGINT)
            process.wait(timeout=30)


@pytest.fixture
def client(server: Server) -> Iterator[gpuaas.Client]:
    with server.client() as client:
        yield client


@pytest.fixture
def proxy(server: Server) -> Iterator[Proxy]:
    with Proxy(server.url) as proxy:
        yield proxy


@pytest.fixture(autouse=True)
def no_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("URL", "TOKEN", "ORGANIZATION", "PROJECT"):
        monkeypatch.delenv(f"GPUAAS_{name}", raising=False)


def _await_ready(process: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + READY_WITHIN_S
    while time.monotonic() < deadline and process.poll() is None:
        if "is ready" in log.read_text():
            return
        time.sleep(0.05)
    pytest.exit(f"gpuaasd dev did not become ready:\n{log.read_text()}", returncode=1)


def _read_env(path: Path) -> dict[str, str]:
    lines = (line.removeprefix("export ").strip() for line in path.read_text().splitlines())
    return dict(line.split("=", 1) for line in lines if line)


def _lift_limits(server: Server) -> None:
    with server.operator() as operator:
        for lane in LANES:
            operator.policies.set_platform(f"rate_limit.{lane}_per_minute", value="10000000")
