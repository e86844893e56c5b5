"""The wheel, installed where nothing else is, runs the examples."""

from __future__ import annotations

import os
import subprocess
import sys
import venv
from pathlib import Path

import pytest

from conftest import Server

SDK = Path(__file__).resolve().parents[1]
EXAMPLES = SDK / "examples"
LONGEST_S = 60


def run(*command: str | Path, env: dict[str, str] | None = None) -> str:
    done = subprocess.run(
        [str(it) for it in command],
        env=env,
        cwd=SDK,
        capture_output=True,
        text=True,
        timeout=LONGEST_S,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    run(sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", folder)
    [wheel] = folder.glob("gpuaas-*.whl")
    fresh = folder / "fresh"
    venv.create(fresh, with_pip=True)
    pip: list[str | Path] = [
        fresh / "bin/python",
        "-m",
        "pip",
        "install",
        "--quiet",
        "--disable-pip-version-check",
    ]
    run(*pip, "--constraint", SDK / "requirements-dev.txt", wheel)
    return fresh / "bin/python"


@pytest.fixture
def environment(server: Server) -> dict[str, str]:
    return {"PATH": os.environ["PATH"], **server.env}


def test_the_wheel_says_its_version_and_that_it_is_typed(python: Path, environment: dict[str, str]) -> None:
    said = run(python, "-c", "import gpuaas; print(gpuaas.__version__, gpuaas.__file__)", env=environment)
    version, path = said.split()
    assert version[0].isdigit()
    assert "site-packages" in path
    assert Path(path).with_name("py.typed").exists()


def test_launch_and_release(python: Path, environment: dict[str, str]) -> None:
    said = run(python, EXAMPLES / "launch_and_release.py", env=environment)
    assert "is active" in said
    assert "2 GPUs" in said
    assert "is released" in said


def test_capacity_and_prices(python: Path, environment: dict[str, str]) -> None:
    said = run(python, EXAMPLES / "capacity_and_prices.py", env=environment)
    assert "h200-slice" in said
    assert "gpu free" in said


def test_stream_events(python: Path, environment: dict[str, str], server: Server) -> None:
    command = [str(python), str(EXAMPLES / "stream_events.py"), "project.", "1"]
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as example:
        assert example.stdout is not None
        assert example.stdout.readline() == "following\n"
        with server.client() as client:
            project = client.projects.create(name="streamed")
        assert project.id in example.communicate(timeout=LONGEST_S)[0]
        assert example.returncode == 0


def test_watch_cost(python: Path, environment: dict[str, str]) -> None:
    said = run(python, EXAMPLES / "watch_cost.py", "2", "0.1", env=environment)
    assert said.count("SKUs") == 2
