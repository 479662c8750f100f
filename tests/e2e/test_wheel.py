"""What a user installs: the wheel alone, in an environment without this repository."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest
from support.lab import free_port
from support.processes import bound
from support.waiting import wait_for

ROOT = Path(__file__).parents[2]

pytestmark = pytest.mark.timeout(300)


def _run(*command: str | Path, cwd: Path) -> str:
    environment = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
    done = subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The command of a wheel that was built and installed."""
    folder = tmp_path_factory.mktemp("wheel")
    _run(sys.executable, "-m", "build", "--wheel", "--outdir", folder / "dist", ROOT, cwd=folder)
    wheel = next((folder / "dist").glob("*.whl"))
    _run(sys.executable, "-m", "venv", folder / "venv", cwd=folder)
    pip = (folder / "venv" / "bin" / "pip", "install", "-q", "--disable-pip-version-check", "--retries", "5")
    _run(*pip, "-c", ROOT / "requirements.lock", wheel, cwd=folder)
    return folder / "venv" / "bin" / "kafka-connect-exporter"


def test_the_wheel_renders_the_same_bundle(installed: Path, tmp_path: Path) -> None:
    """Sources of rules and dashboards travel in the wheel."""
    _run(installed, "render", tmp_path / "wheel", cwd=tmp_path)
    _run(sys.executable, "-m", "exporter", "render", tmp_path / "repository", cwd=ROOT)
    expected = {
        path.relative_to(tmp_path / "repository"): path.read_bytes()
        for path in (tmp_path / "repository").rglob("*")
        if path.is_file()
    }
    assert expected
    assert expected == {
        path.relative_to(tmp_path / "wheel"): path.read_bytes()
        for path in (tmp_path / "wheel").rglob("*")
        if path.is_file()
    }


def test_the_wheel_reads_a_configuration(installed: Path, tmp_path: Path) -> None:
    """No development package is needed to run a command."""
    file = tmp_path / "exporter.yml"
    file.write_text("clusters: [{name: payments, workers: [{name: w1, rest: 'http://127.0.0.1:8083'}]}]\n")
    assert "1 worker(s) in 1 cluster(s), no error" in _run(installed, "check", "config", file, cwd=tmp_path)


def test_the_wheel_serves_its_pages(installed: Path, tmp_path: Path) -> None:
    """Templates and every run-time dependency are there."""
    url = f"127.0.0.1:{free_port()}"
    with (tmp_path / "output").open("wb") as output:
        # Nobody listens on port 1: the worker is down, the exporter is not.
        command = bound(str(installed), "run", "--rest", "http://127.0.0.1:1", "--listen", url)
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output, stderr=output)

    def answers(path: str) -> str:
        with contextlib.suppress(OSError), urllib.request.urlopen(f"http://{url}{path}", timeout=10) as response:
            return str(response.read().decode())
        return ""

    try:
        page = wait_for("the status page", lambda: answers("/"), 30)
        assert "<html" in page
        wait_for("the metrics", lambda: "kafka_connect_exporter_build_info" in answers("/metrics"), 30)
    finally:
        process.kill()
        process.wait()
