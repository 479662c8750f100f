"""The exporter as users run it: its command in a process of its own, read over HTTP."""

from __future__ import annotations

import contextlib
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Iterator, Mapping
from pathlib import Path

from prometheus_client.parser import text_string_to_metric_families

from support.lab import Pair, free_port
from support.processes import bound
from support.waiting import wait_for

Labels = frozenset[tuple[str, str]]


class Exporter:
    """A running `kafka-connect-exporter run`."""

    def __init__(self, folder: Path, *arguments: str) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.port = free_port()
        self.output = folder / "exporter.log"
        self._command = [sys.executable, "-m", "exporter", "run", "--listen", f"127.0.0.1:{self.port}", *arguments]
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        """Where it serves."""
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        """Start and wait until every source was read once."""
        with self.output.open("ab") as file:
            self._process = subprocess.Popen(bound(*self._command), stdin=subprocess.DEVNULL, stdout=file, stderr=file)
        process = self._process

        def ready() -> bool:
            assert process.poll() is None, f"the exporter ended: {self.output.read_text()[-2000:]}"
            with contextlib.suppress(OSError):
                return self.get("/-/ready") == "ready\n"
            return False

        wait_for("the exporter is ready", ready, 60)

    def send(self, number: signal.Signals) -> None:
        """Send a signal."""
        assert self._process is not None
        self._process.send_signal(number)

    def stop(self, number: signal.Signals) -> int:
        """Send a signal that ends it; the exit code."""
        assert self._process is not None
        self._process.send_signal(number)
        return self._process.wait(20)

    def kill(self) -> None:
        """SIGKILL."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()

    def get(self, path: str) -> str:
        """The body of a GET."""
        with urllib.request.urlopen(self.url + path, timeout=20) as response:
            return str(response.read().decode())

    def samples(self) -> dict[str, dict[Labels, float]]:
        """Every sample of the page, by name and labels."""
        found: dict[str, dict[Labels, float]] = {}
        for family in text_string_to_metric_families(self.get("/metrics")):
            for sample in family.samples:
                found.setdefault(sample.name, {})[frozenset(sample.labels.items())] = sample.value
        return found

    def value(self, name: str, **labels: str) -> float | None:
        """The one sample of `name` that has these labels among its own; None if there is none."""
        wanted = set(labels.items())
        values = [value for found, value in self.samples().get(name, {}).items() if wanted <= found]
        assert len(values) <= 1, f"{name} {labels}: {len(values)} samples"
        return values[0] if values else None


@contextlib.contextmanager
def exporter(folder: Path, *arguments: str) -> Iterator[Exporter]:
    """A running exporter while the block runs."""
    made = Exporter(folder, *arguments)
    try:
        made.start()
        yield made
    finally:
        made.kill()


def watching(pair: Pair, file: Path, state: Path | None = None, transport: str = "bridge") -> Path:
    """Write a configuration that watches both workers over all three sources."""
    lines = ["clusters:", "  - name: lab", "    workers:"]
    for name, worker in (("w1", pair.leader), ("w2", pair.follower)):
        lines += [
            f"      - name: {name}",
            f"        jmx: {{address: '{worker.jmx}', transport: {transport}}}",
            f"        rest: {worker.url}",
            f"        logs: [{worker.log}]",
        ]
    lines += ["defaults: {poll_interval: 2s, rest_interval: 2s}"]
    if state is not None:
        lines.append(f"state: {state}")
    file.write_text("\n".join(lines) + "\n")
    return file


def total(samples: Mapping[Labels, float]) -> float:
    """The sum over all label values."""
    return sum(samples.values())
